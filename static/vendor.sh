#!/bin/sh
# vendor.sh fetches what we serve but did not write: htmx, the Inter faces and
# the Lucide icons named in icons.txt. Versions are pinned here, contents in
# SHA256SUMS; a changed file stops the script before anything is replaced.
#   ./vendor.sh          fetch again and compare with SHA256SUMS
#   ./vendor.sh --accept fetch again and rewrite SHA256SUMS
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() { # fetch PACKAGE VERSION FOLDER: unpacks it into the work folder
	mkdir -p "$work/$3"
	tar -xzf "$work/$(cd "$work" && npm pack --silent "$1@$2")" -C "$work/$3" --strip-components=1
}
fetch htmx.org 4.0.1 htmx
fetch @fontsource-variable/inter 5.3.0 inter
fetch lucide-static 1.62.0 lucide

out="$work/out"
mkdir "$out"
grep -v '^//# sourceMappingURL' "$work/htmx/dist/htmx.min.js" >"$out/htmx.min.js"
cp "$work/inter/files/inter-latin-wght-normal.woff2" "$out/inter-latin.woff2"
cp "$work/inter/files/inter-latin-ext-wght-normal.woff2" "$out/inter-latin-ext.woff2"

# One sprite: each icon keeps its shapes and loses the attributes that the
# stylesheet sets on .icon.
{
	printf '<svg xmlns="http://www.w3.org/2000/svg">\n'
	while read -r name; do
		printf '<symbol id="i-%s" viewBox="0 0 24 24">' "$name"
		tr '\n' ' ' <"$work/lucide/icons/$name.svg" |
			sed -e 's/<!--.*-->//' -e 's/^[^<]*<svg[^>]*>//' -e 's/<\/svg>.*$//' -e 's/  */ /g' -e 's/> </></g' -e 's/ \/>/\/>/g' -e 's/^ //' -e 's/ $//'
		printf '</symbol>\n'
	done <icons.txt
	printf '</svg>\n'
} >"$out/icons.svg"

if [ "${1:-}" = --accept ]; then
	(cd "$out" && sha256sum -- *) >SHA256SUMS
fi
(cd "$out" && sha256sum --check --strict --quiet) <SHA256SUMS
cp "$out"/* .
