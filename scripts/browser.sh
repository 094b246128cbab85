#!/bin/sh
# Sees to a browser for the journeys in e2e: Chromium by apt when it is missing
# and we are root. Elsewhere the journeys say that they are skipped; when CI is
# true a missing browser is a failure.
set -eu
for name in chromium chromium-browser google-chrome google-chrome-stable; do
	if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "Installing Chromium for the browser journeys."
	export DEBIAN_FRONTEND=noninteractive
	if apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; then exit 0; fi
fi
if [ "${CI:-}" = true ]; then
	echo "There is no Chromium, and CI needs one." >&2
	exit 1
fi
echo "There is no Chromium here, so the browser journeys will be skipped (install chromium to run them)."
