package i18n

// The page of the demo that shows what was mailed.
var _ = register(words{
	"devmail.title":       Text{"E-mails da demonstração", "Mail of the demo"},
	"devmail.lead":        Text{"Nada sai desta máquina: estas mensagens chegaram por SMTP a um servidor dentro do próprio programa.", "Nothing leaves this machine: these messages came by SMTP to a server inside the program itself."},
	"devmail.search":      Text{"Buscar endereço ou assunto", "Search address or subject"},
	"devmail.apply":       Text{"Buscar", "Search"},
	"devmail.to":          Text{"Para", "To"},
	"devmail.from":        Text{"De", "From"},
	"devmail.subject":     Text{"Assunto", "Subject"},
	"devmail.no_subject":  Text{"(sem assunto)", "(no subject)"},
	"devmail.received":    Text{"Recebida", "Received"},
	"devmail.shown":       Text{"{shown} de {total}, as mais novas primeiro", "{shown} of {total}, newest first"},
	"devmail.empty_title": Text{"Nenhuma mensagem", "No messages"},
	"devmail.empty_body":  Text{"Quando o programa mandar um e-mail, ele aparece aqui.", "When the program sends mail, it appears here."},
	"devmail.empty_found": Text{"Nenhuma mensagem guardada corresponde à busca.", "No stored message matches the search."},
	"devmail.links":       Text{"Links na mensagem", "Links in the message"},
	"devmail.text":        Text{"Parte em texto", "Text part"},
	"devmail.html":        Text{"Parte em HTML", "HTML part"},
	"devmail.headers":     Text{"Cabeçalhos", "Headers"},
	"devmail.gone":        Text{"Esta mensagem não está mais guardada. São mantidas as {kept} mais novas, até o programa parar.", "This message is no longer kept. The newest {kept} are, until the program stops."},
	"devmail.back":        Text{"Todas as mensagens", "All messages"},
	"devmail.json":        Text{"As mesmas em JSON", "The same as JSON"},
})
