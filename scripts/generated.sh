#!/bin/sh
# Generates the templates' code again and fails when that changes anything:
# what is committed must be what the source makes. Compared by content, so that
# it also works beside uncommitted work.
set -eu
cd "$(dirname "$0")/.."
sums() { find . -name '*_templ.go' -not -path './.*' | sort | xargs -r sha256sum; }
before=$(sums)
go tool templ generate -log-level error
after=$(sums)
if [ "$before" != "$after" ]; then
	echo "generated code was out of date; it is up to date now, commit it" >&2
	exit 1
fi
