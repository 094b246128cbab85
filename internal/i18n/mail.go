package i18n

// What every mail of ours has in common.
var _ = register(words{
	"mail.due":  Text{"Prazo: {day}, {time}", "Deadline: {day}, {time}"},
	"mail.zone": Text{"{zone} ({offset})", "{zone} ({offset})"},
	"mail.open_reviews": Count{
		One:  Text{"Abrir minha avaliação", "Open my review"},
		Many: Text{"Abrir minhas avaliações", "Open my reviews"},
	},
	"mail.whom": Text{"Quem você avalia", "Whom you review"},
	"mail.more": Count{
		One:  Text{"e mais uma pessoa: a lista completa está no link", "and one more person: the full list is behind the link"},
		Many: Text{"e mais {n}: a lista completa está no link", "and {n} more: the full list is behind the link"},
	},
	"mail.as.self":    Text{"sua autoavaliação", "your self-review"},
	"mail.as.manager": Text{"você avalia como gestor(a)", "you review as manager"},
	"mail.as.peer":    Text{"você avalia como par", "you review as peer"},
	"mail.as.report":  Text{"você avalia como liderado(a)", "you review as direct report"},
	"mail.sender":     Text{"Recursos Humanos", "Human Resources"},
	"mail.plain_url":  Text{"O botão não abriu? Copie este endereço no navegador:", "The button did not open? Copy this address into the browser:"},
	"mail.open":       Text{"Copie este endereço no navegador:", "Copy this address into the browser:"},
	"mail.keep_link":  Text{"O link é só seu e não pede senha: não encaminhe este e-mail. Ele vale até o fim do ciclo.", "The link is yours alone and asks for no password: do not forward this e-mail. It works until the cycle ends."},
	"mail.reply":      Text{"Dúvidas sobre o conteúdo: responda a este e-mail, quem lê é o RH.", "Questions about the content: reply to this e-mail, HR reads the replies."},
	"mail.reply_to":   Text{"Dúvidas sobre o conteúdo: responda a este e-mail, quem lê é o RH ({contact}).", "Questions about the content: reply to this e-mail, HR reads the replies ({contact})."},
	"mail.why_cycle":  Text{"Você recebeu esta mensagem porque está no mapa de avaliadores do ciclo “{cycle}”.", "You received this message because you are in the reviewer map of the cycle “{cycle}”."},
})
