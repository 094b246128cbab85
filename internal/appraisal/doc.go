// Package appraisal holds the rules of a performance-evaluation cycle: what a
// cycle, a roster, a form and an evaluation are, and what may happen to them.
//
// A cycle lives
//
//	draft ──activate──▶ active ──close──▶ closed
//	  └──────cancel───────┴──cancel──▶ cancelled
//
// and an evaluation
//
//	planned ──▶ pending ──save──▶ in_progress ──submit──▶ submitted
//	   │           ├──submit────────────────────────────▶    │
//	   │           ├──decline──▶ declined                    ├─reopen─▶ in_progress
//	   └─cancel──▶ cancelled        (close) ──▶ expired
//
// Rules are methods on plain structs and are told the time. The package reads
// no clock, no database and no request, and imports nothing of ours but fault.
package appraisal
