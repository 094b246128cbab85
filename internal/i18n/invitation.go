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
	"invitation.due":  Text{"Prazo: {day}, {time}", "Deadline: {day}, {time}"},
	"invitation.zone": Text{"{zone} ({offset})", "{zone} ({offset})"},
	"invitation.button": Count{
		One:  Text{"Abrir minha avaliação", "Open my review"},
		Many: Text{"Abrir minhas avaliações", "Open my reviews"},
	},
	"invitation.whom": Text{"Quem você avalia", "Whom you review"},
	"invitation.more": Count{
		One:  Text{"e mais uma pessoa: a lista completa está no link", "and one more person: the full list is behind the link"},
		Many: Text{"e mais {n}: a lista completa está no link", "and {n} more: the full list is behind the link"},
	},
	"invitation.as.self":    Text{"sua autoavaliação", "your self-review"},
	"invitation.as.manager": Text{"você avalia como gestor(a)", "you review as manager"},
	"invitation.as.peer":    Text{"você avalia como par", "you review as peer"},
	"invitation.as.report":  Text{"você avalia como liderado(a)", "you review as direct report"},

	"invitation.label":     Text{"Convite para avaliar", "Request for reviews"},
	"invitation.preview":   Text{"Prazo: {when}. O link abre as suas avaliações, sem senha.", "Deadline: {when}. The link opens your reviews, without a password."},
	"invitation.sender":    Text{"Recursos Humanos", "Human Resources"},
	"invitation.plain_url": Text{"O botão não abriu? Copie este endereço no navegador:", "The button did not open? Copy this address into the browser:"},
	"invitation.open":      Text{"Copie este endereço no navegador:", "Copy this address into the browser:"},
	"invitation.keep":      Text{"O link é só seu e não pede senha: não encaminhe este e-mail. Ele vale até o fim do ciclo.", "The link is yours alone and asks for no password: do not forward this e-mail. It works until the cycle ends."},
	"invitation.reply":     Text{"Dúvidas sobre o conteúdo: responda a este e-mail, quem lê é o RH.", "Questions about the content: reply to this e-mail, HR reads the replies."},
	"invitation.reply_to":  Text{"Dúvidas sobre o conteúdo: responda a este e-mail, quem lê é o RH ({contact}).", "Questions about the content: reply to this e-mail, HR reads the replies ({contact})."},
	"invitation.why":       Text{"Você recebeu esta mensagem porque está no mapa de avaliadores do ciclo “{cycle}”.", "You received this message because you are in the reviewer map of the cycle “{cycle}”."},
})
