package views

import (
	"net/url"
	"strconv"
	"strings"
)

// List is a table's place in the world: which rows, in which order, which page.
// All of it lives in the address, so a link to it shows the same rows.
type List struct {
	Path   string     // /people
	Query  url.Values // the whole query as it came
	Q      string     // what is searched for
	Sort   string     // "name", or "-name" for descending
	Page   int        // from 1
	Size   int
	Total  int    // rows that match
	All    int    // rows there are without search and filters, where that is known
	Target string // id of the panel that htmx swaps; plain links when empty
}

// URL is the address of the same list with some parameters changed: alternating
// names and values, an empty value removes one. Any change but of the page
// itself starts at the first page again.
func (l List) URL(pairs ...string) string {
	q := url.Values{}
	for k, v := range l.Query {
		if k != "page" {
			q[k] = v
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		} else {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	for k, v := range q {
		if len(v) == 1 && v[0] == "" {
			q.Del(k)
		}
	}
	if len(q) == 0 {
		return l.Path
	}
	return l.Path + "?" + q.Encode()
}

// Get answers a filter's value.
func (l List) Get(name string) string { return l.Query.Get(name) }

// Filtered reports whether anything narrows the list.
func (l List) Filtered() bool {
	for k, v := range l.Query {
		if k != "sort" && k != "page" && len(v) > 0 && v[0] != "" {
			return true
		}
	}
	return false
}

// Offset is how many rows come before this page.
func (l List) Offset() int { return (l.Page - 1) * l.Size }

// Pages is how many pages there are; one when the list is empty.
func (l List) Pages() int {
	if l.Size <= 0 || l.Total <= l.Size {
		return 1
	}
	return (l.Total + l.Size - 1) / l.Size
}

// first and last are the numbers of the rows on this page.
func (l List) first() int { return min(l.Offset()+1, l.Total) }
func (l List) last() int  { return min(l.Offset()+l.Size, l.Total) }

// PageURL is the address of another page of the list.
func (l List) PageURL(page int) string {
	if page <= 1 {
		return l.URL()
	}
	return l.URL("page", strconv.Itoa(page))
}

// ariaSort answers how a column is sorted now: ascending, descending or none.
func (l List) ariaSort(key string) string {
	switch l.Sort {
	case key:
		return "ascending"
	case "-" + key:
		return "descending"
	}
	return "none"
}

// sortURL sorts by a column; by the one in force, the other way round.
func (l List) sortURL(key string) string {
	if l.Sort == key {
		return l.URL("sort", "-"+key)
	}
	return l.URL("sort", key)
}

// hidden are the parameters a filter form carries along besides its own fields.
func (l List) hidden(own []string) [][2]string {
	var rest [][2]string
	for _, k := range []string{"sort"} {
		if v := l.Query.Get(k); v != "" && !contains(own, k) {
			rest = append(rest, [2]string{k, v})
		}
	}
	return rest
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if strings.EqualFold(x, s) {
			return true
		}
	}
	return false
}
