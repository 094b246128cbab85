package views

import (
	"strconv"
	"testing"
)

func TestSegments(t *testing.T) {
	for _, tt := range []struct {
		name  string
		n     []int
		total int
		drawn int
	}{
		{"nothing", nil, 0, 0},
		{"only noughts", []int{0, 0}, 10, 0},
		{"everything", []int{10}, 10, 1},
		{"seven failures among thousands", []int{2852, 12, 7}, 2871, 3},
		{"a little of a lot", []int{1}, 100000, 1},
		{"many small ones", []int{100000, 1, 1, 1, 1}, 100004, 5},
		{"a nought between", []int{5, 0, 5}, 10, 2},
	} {
		var slices []Slice
		for _, n := range tt.n {
			slices = append(slices, Slice{Fill: "fill-ok", N: n})
		}
		got := segments(slices, tt.total)
		if len(got) != tt.drawn {
			t.Errorf("%s: %d slices, want %d", tt.name, len(got), tt.drawn)
		}
		end := -sliceGap
		for _, s := range got {
			x, _ := strconv.ParseFloat(s.x, 64)
			w, _ := strconv.ParseFloat(s.width, 64)
			if w < leastSlice-0.01 {
				t.Errorf("%s: a slice of %v cannot be seen", tt.name, w)
			}
			if x < end+sliceGap-0.02 {
				t.Errorf("%s: a slice at %v overlaps the one that ends at %v", tt.name, x, end)
			}
			end = x + w
		}
		if end > 100.02 {
			t.Errorf("%s: the bar ends at %v", tt.name, end)
		}
	}
}
