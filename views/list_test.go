package views

import (
	"net/url"
	"testing"
)

func TestListKeepsItsPlace(t *testing.T) {
	l := List{Path: "/people", Query: url.Values{"q": {"ana"}, "state": {""}, "page": {"3"}}, Sort: "name", Page: 3, Size: 25, Total: 60}
	for _, tt := range []struct{ name, got, want string }{
		{"a change starts at the first page", l.URL("state", "left"), "/people?q=ana&state=left"},
		{"an empty value removes", l.URL("q", ""), "/people"},
		{"the first page has no number", l.PageURL(1), "/people?q=ana"},
		{"another page keeps the search", l.PageURL(2), "/people?page=2&q=ana"},
		{"the column in force turns round", l.sortURL("name"), "/people?q=ana&sort=-name"},
		{"another column ascends", l.sortURL("due"), "/people?q=ana&sort=due"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, tt.got, tt.want)
		}
	}
	if l.Pages() != 3 || l.first() != 51 || l.last() != 60 || l.Offset() != 50 {
		t.Errorf("page 3 of %d shows %d to %d from %d", l.Pages(), l.first(), l.last(), l.Offset())
	}
	if l.ariaSort("name") != "ascending" || l.ariaSort("due") != "none" {
		t.Error("the wrong column says it is sorted")
	}
	if !l.Filtered() || (List{Query: url.Values{"sort": {"name"}, "page": {"2"}}}).Filtered() {
		t.Error("only a search or a filter narrows a list")
	}
}

func TestInitials(t *testing.T) {
	for name, want := range map[string]string{
		"Renata Tavares Brandão de Queirós": "RQ",
		"érica":                             "É",
		"":                                  "",
		" Ana  Luz ":                        "AL",
	} {
		if got := (Viewer{Name: name}).Initials(); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
