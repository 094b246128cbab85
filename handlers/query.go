package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"ciclo/internal/fault"
	"ciclo/internal/policy"
	"ciclo/views"
)

// pathID reads a number from the path. Anything that is not the number of a
// thing, as we write it, is no page.
func pathID(r *http.Request, name string) (int64, error) {
	id, ok := parseID(chi.URLParam(r, name))
	if !ok {
		return 0, fault.NotFoundf("fault.not_found")
	}
	return id, nil
}

// actor is who asks; the zero actor when nobody is signed in.
func actor(r *http.Request) policy.Actor { return views.ViewerFrom(r.Context()).Actor }

// pageSize is how many rows a table shows at once.
const pageSize = 25

// listQuery reads search, sort and page of a table from the address. The first
// of sorts is the order when none is asked for; each may be asked for with a
// minus. The caller sets Total, and Target where htmx swaps the list.
func listQuery(r *http.Request, sorts ...string) (views.List, error) {
	l := views.List{Path: r.URL.Path, Query: url.Values{}, Page: 1, Size: pageSize}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return l, fault.Invalidf("fault.bad_request")
	}
	for name, values := range query {
		v, m := cleanLine(values[0], 200)
		if m != nil {
			return l, fault.Invalidf(m.Key, m.Args...)
		}
		l.Query.Set(name, v)
	}
	l.Q = l.Query.Get("q")
	if len(sorts) > 0 {
		l.Sort = sorts[0]
	}
	if s := l.Query.Get("sort"); slices.Contains(sorts, s) || slices.Contains(sorts, strings.TrimPrefix(s, "-")) {
		l.Sort = s
	}
	if p, err := strconv.Atoi(l.Query.Get("page")); err == nil && p >= 1 && p <= 1_000_000 {
		l.Page = p
	}
	return l, nil
}

func formatID(id int64) string { return strconv.FormatInt(id, 10) }
