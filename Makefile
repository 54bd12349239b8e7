# `make` lists what there is. CI runs `make test` and `make lint`.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# A clone without version control data, or owned by someone else, still builds.
export GOFLAGS := $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)

# How long each fuzz target runs, how often and how long each benchmark does, and which ones.
FUZZTIME ?= 20s
COUNT ?= 6
BENCHTIME ?= 300ms
BENCH ?= .
# What of rejoin bench runs with them: short, full or none.
ROUND ?= short
# Packages that test, race and bench look at, and more flags for them.
PKG ?= ./...
TESTFLAGS ?=

TOOLS := internal/tools
LINT := bin/golangci-lint
BENCHSTAT := bin/benchstat

# Every folder with a package-lock.json gets its node_modules.
NODE := $(patsubst %package-lock.json,%node_modules/.installed,\
	$(shell find . -name node_modules -prune -o -name package-lock.json -print))

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 10

.PHONY: dev
dev: build ## Build and run everything on this machine: broker, relay, janitor, demo
	bin/rejoin dev

.PHONY: build
build: ## Build bin/rejoin
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/rejoin ./cmd/rejoin

.PHONY: web
web: consumer/web/node_modules/.installed ## Build what the relay embeds out of the TypeScript; commit it
	relay/demo/build.sh

.PHONY: setup
setup: system $(NODE) ## Bring what the tests need: Debian packages, npm packages

.PHONY: system
system:
	@$(TOOLS)/system.sh $(TOOLS)/system.txt

.PHONY: test
test: setup ## Run all tests, with the race detector
	TESTFLAGS='$(TESTFLAGS)' $(TOOLS)/test.sh $(PKG)

.PHONY: race
race: setup ## Run all tests three times in random order, with the race detector
	go test -race -timeout 60m -count 3 -shuffle on $(TESTFLAGS) $(PKG)

.PHONY: lint
lint: $(LINT) ## Check formatting, go.mod and a dozen bug patterns
	$(TOOLS)/format.sh
	go mod tidy -diff
	$(LINT) run

.PHONY: fuzz
fuzz: setup ## Run every fuzz target for FUZZTIME (20s)
	FUZZTIME=$(FUZZTIME) $(TOOLS)/fuzz.sh

.PHONY: bench
bench: build $(BENCHSTAT) ## Run the Go benchmarks and a short round of rejoin bench, keep and compare the numbers
	PKG='$(PKG)' BENCH='$(BENCH)' COUNT=$(COUNT) BENCHTIME=$(BENCHTIME) ROUND='$(ROUND)' $(TOOLS)/bench.sh

.PHONY: clean
clean: ## Remove what was built and installed in this folder
	rm -rf bin $(dir $(NODE))

$(LINT): $(TOOLS)/go.mod $(TOOLS)/go.sum
	go -C $(TOOLS) build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

$(BENCHSTAT): $(TOOLS)/go.mod $(TOOLS)/go.sum
	go -C $(TOOLS) build -o $(CURDIR)/$@ golang.org/x/perf/cmd/benchstat
	@touch $@

%node_modules/.installed: %package-lock.json
	cd $(dir $<) && npm ci --no-audit --no-fund
	@touch $@
