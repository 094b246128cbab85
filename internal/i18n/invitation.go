package i18n

// The mail that asks a reviewer for their reviews of a cycle.
var _ = register(words{
	"invitation.subject": Count{
		Zero: Text{"Nenhuma avaliação para fazer", "No reviews to write"},
		One:  Text{"Uma avaliação para fazer até {day}", "One review to write by {day}"},
		Many: Text{"{n} avaliações para fazer até {day}", "{n} reviews to write by {day}"},
	},
	"invitation.heading": Count{
		Zero: Text{"{name}, você não tem avaliações para fazer", "{name}, you have no reviews to write"},
		One:  Text{"{name}, você tem uma avaliação para fazer", "{name}, you have one review to write"},
		Many: Text{"{name}, você tem {n} avaliações para fazer", "{name}, you have {n} reviews to write"},
	},
	"invitation.lead": Count{
		One:  Text{"O ciclo “{cycle}” começou. A avaliação leva uns 15 minutos e pode ser feita em partes: o que você escreve fica salvo.", "The cycle “{cycle}” has started. The review takes about 15 minutes and can be written in parts: what you write is saved."},
		Many: Text{"O ciclo “{cycle}” começou. Cada avaliação leva uns 15 minutos e pode ser feita em partes: o que você escreve fica salvo.", "The cycle “{cycle}” has started. Each review takes about 15 minutes and can be written in parts: what you write is saved."},
	},

	"invitation.label":   Text{"Convite para avaliar", "Request for reviews"},
	"invitation.preview": Text{"Prazo: {when}. O link abre as suas avaliações, sem senha.", "Deadline: {when}. The link opens your reviews, without a password."},
})
