package i18n

// Signing in, choosing an organisation, setting a password.
var _ = register(words{
	"sign_in.title":         Text{"Entrar", "Sign in"},
	"sign_in.email":         Text{"E-mail", "E-mail"},
	"sign_in.password":      Text{"Senha", "Password"},
	"sign_in.submit":        Text{"Entrar", "Sign in"},
	"sign_in.refused":       Text{"Não foi possível entrar", "Could not sign in"},
	"sign_in.link_note":     Text{"Recebeu um convite para avaliar alguém? Use o link do e-mail: ele não pede senha.", "Were you invited to review somebody? Use the link in the e-mail: it asks for no password."},
	"sign_in.wrong":         Text{"E-mail ou senha não conferem. Depois de {tries} tentativas, espere {minutes} minutos.", "E-mail and password do not match. After {tries} tries, wait {minutes} minutes."},
	"sign_in.wait":          Text{"Foram {tries} tentativas sem sucesso com este e-mail. Espere {minutes} minutos e tente de novo.", "There were {tries} unsuccessful tries with this e-mail. Wait {minutes} minutes and try again."},
	"sign_in.network":       Text{"Muitos pedidos desta rede em pouco tempo. Espere um minuto e tente de novo.", "Many requests from this network in a short time. Wait a minute and try again."},
	"sign_in.other_account": Text{"Este navegador está na conta de {name}. Saia dela primeiro e abra o link de novo.", "This browser is signed in as {name}. Sign out first and open the link again."},

	"organisation.title": Text{"Escolha a organização", "Choose the organisation"},
	"organisation.lead":  Text{"O seu e-mail e a sua senha valem em mais de uma.", "Your e-mail and password are good for more than one."},

	"password.title":      Text{"Definir a senha", "Set the password"},
	"password.new":        Text{"Nova senha", "New password"},
	"password.new_help":   Text{"Pelo menos {min} caracteres. Uma frase é fácil de lembrar.", "At least {min} characters. A phrase is easy to remember."},
	"password.again":      Text{"Repita a nova senha", "Repeat the new password"},
	"password.submit":     Text{"Definir a senha", "Set the password"},
	"password.short":      Text{"A senha tem menos de {min} caracteres. Use uma mais longa.", "The password has fewer than {min} characters. Use a longer one."},
	"password.differs":    Text{"As duas senhas são diferentes. Digite a mesma nos dois campos.", "The two passwords differ. Type the same in both fields."},
	"password.saved":      Text{"Senha definida. Entre com ela.", "The password is set. Sign in with it."},
	"password.gone_title": Text{"Este link não vale mais", "This link is no longer good"},
	"password.link_gone":  Text{"Este link já foi usado ou passou do prazo. Peça outro em “Esqueci a senha”, na página de entrada.", "This link has been used or has run out. Ask for another with “I forgot my password” on the sign-in page."},
})
