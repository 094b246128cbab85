package handlers

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// Routes is the table of contents: what can be asked, in the order a person
// meets it. Verbs are nouns here: to sign in is to create a login.
func (h *Handlers) Routes() http.Handler {
	r := chi.NewRouter()
	if h.trace != nil {
		r.Use(h.trace)
	}
	r.Use(h.identifyRequest, h.logAccess, h.recoverPanic, h.secureHeaders)
	r.Use(middleware.GetHead)
	r.NotFound(h.identifyViewer(h.page(h.notFound)).ServeHTTP)
	r.MethodNotAllowed(h.identifyViewer(h.page(h.methodNotAllowed)).ServeHTTP)

	r.Get("/static/{file}", h.serveStatic)
	r.Get("/favicon.ico", h.serveFavicon)
	r.Get("/healthz", h.healthz)
	r.Get("/readyz", h.readyz)
	if h.more != nil {
		r.Group(h.more)
	}

	r.Group(func(r chi.Router) {
		r.Use(h.refuseCrossOrigin, h.identifyViewer)

		// Anyone.
		r.Get("/login", h.page(h.showLogin))
		r.With(h.limitSignIns).Post("/login", h.page(h.signIn))
		r.Get("/login/organisation", h.page(h.showOrganisationChoice))
		r.Post("/login/organisation", h.page(h.chooseOrganisation))
		r.Post("/logout", h.page(h.signOut))
		r.Get("/password/lost", h.page(h.showLostPassword))
		r.With(h.limitSignIns).Post("/password/lost", h.page(h.askReset))
		r.Get("/password/{token}", h.page(h.showPassword))
		r.With(h.limitSignIns).Post("/password/{token}", h.page(h.setPassword))
		r.Get("/r/{token}", h.page(h.showLink))
		r.Head("/r/{token}", h.page(h.showLink))
		r.Post("/r/{token}", h.page(h.openLink))
		r.Get("/acesso", h.page(h.showSlipEntry))
		r.With(h.limitSignIns).Post("/acesso", h.page(h.trySlip))
		r.Get("/acesso/pessoa", h.page(h.showSlipOwner))
		r.Post("/acesso/pessoa", h.page(h.openSlip))
		r.Post("/language", h.page(h.chooseLanguage))
		r.Post("/theme", h.page(h.chooseTheme))

		// Everybody with an account.
		r.Group(func(r chi.Router) {
			r.Use(h.requireSignIn)
			r.Get("/", h.page(h.showHome))
			r.Get("/account", h.page(h.showAccount))
			r.Post("/account/sessions/removal", h.page(h.signOutEverywhere))

			r.Get("/people", h.page(h.listPeople))
			r.Get("/people/import", h.page(h.showPeopleUpload))
			r.Get("/people/import/template", h.page(h.showPeopleTemplate))
			r.Post("/people/import", h.upload(h.uploadPeople))
			r.Get("/people/import/{id}", h.page(h.showPeopleImport))
			r.Get("/people/import/{id}/columns", h.page(h.showPeopleColumns))
			r.Post("/people/import/{id}/columns", h.page(h.mapPeopleColumns))
			r.Get("/people/import/{id}/rejects", h.page(h.downloadRejectedPeople))
			r.Get("/people/import/{id}/confirmation", h.page(h.showPeopleConfirmation))
			r.Post("/people/import/{id}/confirmation", h.page(h.confirmPeople))
			r.Get("/people/{id}", h.page(h.showPerson))
			r.Get("/people/{id}/address", h.page(h.showAddress))
			r.Post("/people/{id}/address", h.page(h.changeAddress))
			r.Post("/people/{id}/invitation", h.page(h.invitePerson))
			r.Post("/people/{id}/sessions/removal", h.page(h.endSessions))
			r.Get("/people/{id}/roles", h.page(h.showRoles))
			r.Post("/people/{id}/roles", h.page(h.giveRole))
			r.Post("/people/{id}/roles/{grant}/removal", h.page(h.takeRole))

			r.Get("/forms", h.page(h.listForms))
			r.Get("/forms/draft", h.page(h.startForm))
			r.Post("/forms/draft", h.page(h.createForm))
			r.Get("/forms/{id}", h.page(h.showForm))
			r.Get("/forms/{id}/draft", h.page(h.editForm))
			r.Post("/forms/{id}/draft", h.page(h.saveForm))

			r.Get("/cycles", h.page(h.listCycles))
			r.Get("/cycles/new", h.page(h.newCycle))
			r.Post("/cycles", h.page(h.createCycle))
			r.Get("/cycles/{id}", h.page(h.showCycle))
			r.Get("/cycles/{id}/terms", h.page(h.showTerms))
			r.Post("/cycles/{id}/terms", h.page(h.changeTerms))
			r.Get("/cycles/{id}/roster", h.page(h.showRoster))
			r.Get("/cycles/{id}/roster.csv", h.page(h.exportRoster))
			r.Get("/cycles/{id}/roster/removal", h.page(h.showRosterRemoval))
			r.Post("/cycles/{id}/roster/removal", h.page(h.clearRoster))
			r.Get("/cycles/{id}/rule", h.page(h.showRule))
			r.Post("/cycles/{id}/rule", h.page(h.applyRule))
			r.Get("/cycles/{id}/imports/new", h.page(h.newPairsImport))
			r.Post("/cycles/{id}/imports", h.upload(h.stagePairs))
			r.Get("/cycles/{id}/imports/{import}", h.page(h.showPairsImport))
			r.Get("/cycles/{id}/imports/{import}/rejected.csv", h.page(h.exportRejectedPairs))
			r.Get("/cycles/{id}/imports/{import}/confirmation", h.page(h.showPairsConfirmation))
			r.Post("/cycles/{id}/imports/{import}/confirmation", h.page(h.confirmPairs))
			r.Get("/cycles/{id}/pairs/new", h.page(h.newPair))
			r.Post("/cycles/{id}/pairs", h.page(h.addPair))
			r.Post("/cycles/{id}/pairs/{pair}/removal", h.page(h.removePair))
			r.Get("/cycles/{id}/pairs/{pair}/reviewer", h.page(h.showReplacement))
			r.Post("/cycles/{id}/pairs/{pair}/reviewer", h.page(h.replaceReviewer))
			r.Get("/cycles/{id}/people", h.page(h.findPeople))
			r.Get("/cycles/{id}/absences", h.page(h.listAbsences))
			r.Get("/cycles/{id}/exclusions/{person}", h.page(h.showExclusion))
			r.Post("/cycles/{id}/exclusions/{person}", h.page(h.excludePerson))
			r.Post("/cycles/{id}/inclusions/{person}", h.page(h.includePerson))
			r.Get("/cycles/{id}/rehearsal", h.page(h.showRehearsal))
			r.Get("/cycles/{id}/rehearsal/mail", h.page(h.showSampleMail))
			r.Get("/cycles/{id}/rehearsal/{about}", h.page(h.listConcerns))
			r.Get("/cycles/{id}/activation", h.page(h.showActivation))
			r.Post("/cycles/{id}/activation", h.page(h.activateCycle))
			r.Get("/cycles/{id}/activation/undo", h.page(h.showUndo))
			r.Post("/cycles/{id}/activation/undo", h.page(h.undoActivation))
			r.Get("/cycles/{id}/receipt", h.page(h.showReceipt))
			r.Get("/cycles/{id}/slips", h.page(h.listSlips))
			r.Post("/cycles/{id}/slips", h.page(h.prepareSlips))
			r.Get("/cycles/{id}/slips/sheet", h.page(h.showSlipSheet))
			r.Get("/cycles/{id}/slips/handover", h.page(h.askHandOverSlips))
			r.Post("/cycles/{id}/slips/handover", h.page(h.handOverSlips))
			r.Get("/cycles/{id}/progress", h.page(h.showProgress))
			r.Get("/cycles/{id}/standing", h.page(h.showStanding))
			r.Get("/cycles/{id}/closure", h.page(h.showClosure))
			r.Post("/cycles/{id}/closure", h.page(h.closeCycle))
			r.Get("/cycles/{id}/cancellation", h.page(h.showCancellation))
			r.Post("/cycles/{id}/cancellation", h.page(h.cancelCycle))

			r.Get("/deliveries", h.page(h.listMessages))
			r.Get("/deliveries/retry", h.page(h.askRetry))
			r.Post("/deliveries/retry", h.page(h.retryMessages))
			r.Get("/deliveries/pause", h.page(h.showPause))
			r.Post("/deliveries/pause", h.page(h.pauseSending))
			r.Post("/deliveries/resume", h.page(h.resumeSending))
			r.Get("/deliveries/{id}", h.page(h.showMessage))
			r.Post("/deliveries/{id}/retry", h.page(h.retryMessage))
			r.Post("/deliveries/{id}/resend", h.page(h.correctAddress))
			r.Get("/deliveries/{id}/cancellation", h.page(h.askCancellation))
			r.Post("/deliveries/{id}/cancellation", h.page(h.cancelMessage))
			r.Post("/deliveries/{id}/handover", h.page(h.handOver))
			r.Get("/deliveries/{id}/{act}", h.page(h.backToMessage))
		})

		// Reviewers, with an account or by link.
		r.Group(func(r chi.Router) {
			r.Use(h.requireReviewer)
			r.Get("/reviews", h.page(h.listReviews))
			r.Get("/reviews/{id}", h.page(h.showReview))
			r.Post("/reviews/{id}/draft", h.page(h.saveDraft))
			r.Get("/reviews/{id}/submission", h.page(h.checkSubmission))
			r.Post("/reviews/{id}/submission", h.page(h.submitEvaluation))
		})
	})
	return r
}
