package i18n

// The pages that say a request could not be served.
var _ = register(words{
	"error.request":      Text{"Código do pedido: {id}", "Request code: {id}"},
	"error.offline":      Text{"Sem resposta do servidor. Confira a conexão e tente de novo: nada foi mudado nesta página.", "No answer from the server. Check the connection and try again: nothing on this page has changed."},
	"error.home":         Text{"Ir para o início", "Go to the home page"},
	"error.sign_in":      Text{"Entrar", "Sign in"},
	"error.invalid":      Text{"O pedido não pôde ser atendido", "The request could not be served"},
	"error.forbidden":    Text{"Sem acesso", "No access"},
	"error.not_found":    Text{"Página não encontrada", "Page not found"},
	"error.conflict":     Text{"A situação mudou", "Things have changed"},
	"error.too_many":     Text{"Muitas tentativas", "Too many attempts"},
	"error.too_large":    Text{"Envio grande demais", "Too large"},
	"error.busy":         Text{"Tente de novo em instantes", "Try again shortly"},
	"error.internal":     Text{"Algo deu errado", "Something went wrong"},
	"error.method":       Text{"Este endereço não aceita esse tipo de pedido. Volte à página e use os botões dela.", "This address does not accept that kind of request. Go back to the page and use its buttons."},
	"error.method_title": Text{"Pedido não aceito", "Request not accepted"},
})
