package views

import (
	"context"

	"ciclo/internal/i18n"
)

// themes are the choices, in the order they are offered; "" follows the system.
var themes = []string{"", "light", "dark"}

func themeKey(theme string) string {
	switch theme {
	case "light":
		return "theme.light"
	case "dark":
		return "theme.dark"
	}
	return "theme.auto"
}

func themeIcon(theme string) string {
	switch theme {
	case "light":
		return "sun"
	case "dark":
		return "moon"
	}
	return "sun-moon"
}

// themeValue is how a theme travels in a form.
func themeValue(theme string) string {
	if theme == "" {
		return "auto"
	}
	return theme
}

func nextTheme(theme string) string {
	for i, t := range themes {
		if t == theme {
			return themeValue(themes[(i+1)%len(themes)])
		}
	}
	return "auto"
}

func pressed(is bool) string {
	if is {
		return "true"
	}
	return "false"
}

func otherLocale(ctx context.Context) i18n.Locale {
	if i18n.From(ctx) == i18n.PT {
		return i18n.EN
	}
	return i18n.PT
}

// localeName is a language in its own words; it is never translated.
func localeName(l i18n.Locale) string {
	if l == i18n.EN {
		return "English"
	}
	return "Português (Brasil)"
}

func localeWord(l i18n.Locale) string {
	if l == i18n.EN {
		return "English"
	}
	return "Português"
}

func localeShort(l i18n.Locale) string {
	if l == i18n.EN {
		return "EN"
	}
	return "PT"
}
