package i18n

// What stands around every page: navigation, menus, lists, forms, notices.
var _ = register(words{
	"shell.skip":        Text{"Ir para o conteúdo", "Skip to the content"},
	"shell.error":       Text{"Erro: ", "Error: "},
	"shell.notices":     Text{"Avisos", "Notices"},
	"shell.close_toast": Text{"Fechar aviso", "Close notice"},
	"shell.crumbs":      Text{"Caminho", "Breadcrumbs"},
	"shell.find_people": Text{"Buscar pessoa", "Find a person"},
	"shell.account_of":  Text{"Conta de {name}", "Account of {name}"},
	"shell.step_of":     Text{"{step} de {steps}", "{step} of {steps}"},

	"nav.main":          Text{"Principal", "Main"},
	"nav.menu":          Text{"Menu", "Menu"},
	"nav.close":         Text{"Fechar menu", "Close menu"},
	"nav.shortcuts":     Text{"Atalhos", "Shortcuts"},
	"nav.brand_home":    Text{"Ciclo, início", "Ciclo, home"},
	"nav.home":          Text{"Início", "Home"},
	"nav.reviews":       Text{"Minhas avaliações", "My reviews"},
	"nav.reviews_short": Text{"Avaliações", "Reviews"},
	"nav.reviews_count": Text{"a enviar", "to submit"},
	"nav.performance":   Text{"Desempenho", "Performance"},
	"nav.cycles":        Text{"Ciclos", "Cycles"},
	"nav.forms":         Text{"Formulários", "Forms"},
	"nav.people":        Text{"Pessoas", "People"},
	"nav.operation":     Text{"Operação", "Operation"},
	"nav.messages":      Text{"Envios", "Messages"},
	"nav.failed_count":  Text{"falhas", "failed"},
	"nav.team_short":    Text{"Equipe", "Team"},
	"nav.account":       Text{"Minha conta", "My account"},
	"nav.sign_out":      Text{"Sair", "Sign out"},

	"language.now":    Text{"Idioma: {language}", "Language: {language}"},
	"language.choose": Text{"Idioma", "Language"},
	"theme.now":       Text{"Tema: {theme}", "Theme: {theme}"},
	"theme.auto":      Text{"Automático", "Automatic"},
	"theme.light":     Text{"Claro", "Light"},
	"theme.dark":      Text{"Escuro", "Dark"},

	"gate.promise": Text{"Avaliações de desempenho, com cada mensagem contada até o servidor de e-mail a aceitar.", "Performance reviews, with every message counted until the mail server has accepted it."},

	"form.optional": Text{"opcional", "optional"},

	"list.apply":    Text{"Aplicar", "Apply"},
	"list.pages":    Text{"Páginas", "Pages"},
	"list.range":    Text{"{first}–{last} de {total}", "{first}–{last} of {total}"},
	"list.page_of":  Text{"Página {page} de {pages}", "Page {page} of {pages}"},
	"list.previous": Text{"Anterior", "Previous"},
	"list.next":     Text{"Próxima", "Next"},
})
