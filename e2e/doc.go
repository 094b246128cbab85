// Package e2e tries the product as people meet it: the real binary in a process
// of its own, a real browser, and a second one without script.
//
// It promises that every page can be reached, read and worked by anybody: with a
// mouse at a desk, with a thumb on a phone, and where no script runs. A console
// error or a breach of the content policy fails the test it happens in.
// Journeys that need Chromium are skipped, with a line that says so, where there
// is none; when CI is set they fail instead.
package e2e
