# Everything a person or CI does here. Bare "make" lists it.
.DEFAULT_GOAL := help
SHELL := /bin/sh
.PHONY: help run test faults check generated fmt format lint build browser

# The race detector needs a C compiler; without one the tests run without it,
# and say so.
RACE := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo -race)

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Run the demo with everything it needs (ARGS="--listen HOST:PORT --data DIR")
	@go build -o bin/ciclo ./cmd/ciclo
	@exec ./bin/ciclo demo $(ARGS)

# -parallel 4: most tests wait for PostgreSQL or SMTP, not for one of our cores.
# -vet=off: make lint runs the whole of go vet, and CI runs both.
test: browser ## Run every test on a private PostgreSQL, with the race detector (TESTS="./store/...")
	@test -n "$(RACE)" || echo "No C compiler here: the tests run without the race detector."
	go run ./internal/pg/withpg -- go test $(RACE) -vet=off -timeout 20m -parallel 4 $(or $(TESTS),./...)

faults: ## Run the delivery tests in their long form (minutes)
	CICLO_TEST_LONG=1 $(MAKE) test TESTS="-count=1 -v -run 'SixteenWorkers' ./store"

check: generated fmt lint test ## Everything CI runs, in the same order

generated: ## Fail when generated code is not what its source makes
	@sh scripts/generated.sh

fmt: ## Fail when a file is not formatted (make format mends it)
	@wrong=$$(gofmt -l $$(find . -name '*.go' -not -path './.*')); \
	test -z "$$wrong" || { echo "not formatted, run make format:"; echo "$$wrong"; exit 1; }

format: ## Format the Go files and the templates
	gofmt -w $$(find . -name '*.go' -not -path './.*')
	go tool templ fmt views

lint: ## Look for mistakes: go vet, staticcheck, checksums of vendored files
	go vet ./...
	go vet -tags packaged ./internal/pg
	go tool -modfile=tools.mod staticcheck ./...
	cd static && sha256sum --quiet -c SHA256SUMS
	cd e2e/testdata && sha256sum --quiet -c SHA256SUMS

build: ## Build the static binary, bin/ciclo
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.release=$(RELEASE)" -o bin/ciclo ./cmd/ciclo

browser: ## Install Chromium for the browser journeys, where we may
	@sh scripts/browser.sh
