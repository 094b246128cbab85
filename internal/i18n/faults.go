package i18n

var _ = register(words{
	"fault.fields": Count{
		One:  Text{"Corrija um campo para continuar", "Correct one field to go on"},
		Many: Text{"Corrija {n} campos para continuar", "Correct {n} fields to go on"},
	},
	"fault.not_found":     Text{"Esta página não existe, ou não é para a sua conta.", "This page does not exist, or is not for your account."},
	"fault.forbidden":     Text{"A sua conta não pode fazer isto.", "Your account may not do this."},
	"fault.internal":      Text{"Algo deu errado do nosso lado. Nada do que você fez se perdeu pela metade. Tente de novo em um minuto.", "Something went wrong on our side. Nothing you did was left half done. Try again in a minute."},
	"fault.busy":          Text{"O sistema está ocupado ou reiniciando. Tente de novo em um minuto.", "The system is busy or restarting. Try again in a minute."},
	"fault.too_large":     Text{"O envio passa de {limit}. Mande algo menor.", "What was sent is over {limit}. Send something smaller."},
	"fault.bad_request":   Text{"O pedido não pôde ser lido. Volte à página e tente de novo.", "The request could not be read. Go back to the page and try again."},
	"fault.cross_origin":  Text{"O pedido veio de outro site e foi recusado. Abra a página de novo e repita.", "The request came from another site and was refused. Open the page again and repeat it."},
	"fault.text_nul":      Text{"O texto tem um caractere que não pode ser guardado (NUL). Apague-o e tente de novo.", "The text has a character that cannot be stored (NUL). Remove it and try again."},
	"fault.text_utf8":     Text{"O texto não está em UTF-8.", "The text is not UTF-8."},
	"fault.text_controls": Text{"O texto tem caracteres invisíveis de controle ou de direção. Digite-o de novo.", "The text has invisible control or direction characters. Type it again."},
	"fault.text_long":     Text{"São no máximo {max} caracteres.", "At most {max} characters."},
	"fault.required":      Text{"Preencha este campo.", "Fill in this field."},
})

// What is wrong with a field.
var _ = register(words{
	"fault.number": Text{"Use um número inteiro de {min} a {max}.", "Use a whole number from {min} to {max}."},
	"fault.date":   Text{"“{value}”: essa data não existe. Use dd/mm/aaaa.", "“{value}”: that date does not exist. Use dd/mm/yyyy."},
	"fault.choice": Text{"Escolha uma das opções da lista.", "Choose one of the options of the list."},
})
