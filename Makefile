# What a developer runs. CI runs .ci/run, which calls these same targets.

# The last module is not in go.work: what drives browsers and k6 want two forms of the same library.
APART    := harness/browser
MODULES  := engine harness harness/k6 harness/peers $(APART)
PACKAGES := $(patsubst %,./%/...,$(filter-out $(APART),$(MODULES)))

# The packages whose tests take the longest. They start first, so that none of them runs alone at the
# end. Those that need the CPU stand beside those that wait for elections and leases.
LONGEST := $(addprefix ./,harness/run engine/node engine/replica harness/cmd/prony engine/cmd/queued engine/rpc engine/storage engine/shard \
	engine/cluster harness/gate harness/load harness/ci harness/attack harness/k6/e2e harness/duet harness/soak harness/serial)

# The dev tools are pinned in ci/tools/go.mod and built by the go command at first use. -modfile needs a
# main module to stand in, so each tool is called from a module's folder.
TOOL := GOWORK=off go tool -modfile='$(CURDIR)/ci/tools/go.mod'

# The binaries carry their commit, and whether the tree was changed, in debug.BuildInfo. Where git can't
# say, they are built without it.
BUILDVCS := $(shell git rev-parse --git-dir >/dev/null 2>&1 && echo auto || echo false)

# The schema of google.api.http, which the engine's schema imports. It is written, not kept: git ignores it.
HTTP_RULES := engine/proto/google/api/http.proto

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build k6 peers axe dist test test-long race lint fmt generate proto proto-bundle schema readme pages baselines perf-smoke vuln clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/prony and bin/queued
	@mkdir -p bin
	go build -buildvcs=$(BUILDVCS) -o bin/ ./engine/cmd/queued ./harness/cmd/prony

# It links all of k6, which takes a minute the first time: whoever does not load an engine from k6 does without it.
k6: ## Build bin/k6, which is k6 with the extension of harness/k6
	@mkdir -p bin
	go build -buildvcs=$(BUILDVCS) -o bin/ ./harness/k6/cmd/k6

# A program of its own, since it links the clients of all the other queue servers. ci/peers.sh installs these servers.
peers: ## Build bin/prony-peers, with which prony measures other queue servers
	@mkdir -p bin
	go build -buildvcs=$(BUILDVCS) -o bin/ ./harness/peers/cmd/prony-peers

dist: ## Build the binaries of the tagged release VERSION for Linux, with SBOMs and checksums: make dist VERSION=v1.2.3
	ci/dist $(VERSION)

# Many tests wait for elections, leases and windows: two packages for each core keep the cores busy. Those of harness/peers start clusters of
# other servers where they are installed. They run last, because they take both cores. -count=1: tests read baselines, scenarios and pages, and
# the go command would repeat an old pass when one of them has changed, since they lie outside of the test's module. The tests of the two build
# tags share one build, since it compiles and links most of the engine again.
test: ## Run the short form of all tests of all modules
	go test -count=1 -p $$((2 * $$(getconf _NPROCESSORS_ONLN))) -timeout 10m $(LONGEST) $(filter-out ./harness/peers/...,$(PACKAGES))
	go test -count=1 -timeout 10m ./harness/peers/...
	cd $(APART) && GOWORK=off go test -count=1 ./...
	go test -tags planted,serialbudget -timeout 10m -run 'Planted|Begin|WaitSleeps|Decay|Background|AClient|Noop|SerialBudget' \
		./engine/internal/planted/... ./engine/internal/serialbudget ./engine/shard ./engine/rpc ./engine/node

axe: ## Fetch bin/axe.min.js, with which the long tests check that the HTML pages are accessible
	ci/axe

test-long: ## Run the long form of the tests, for hours: kills, losses of power, mixtures of faults, damage, injected faults, memory
	ci/test-long

race: ## Run the short form of all tests under the race detector
	go test -race -timeout 30m $(PACKAGES)

lint: $(HTTP_RULES) ## Check formatting, go vet, golangci-lint, the documents, added text, the workflows and the schema; changes nothing
	@cd engine && unformatted=$$($(TOOL) gofumpt -l $(MODULES:%=../%)) && \
		{ [ -z "$$unformatted" ] || { echo "not formatted, run 'make fmt':"; echo "$$unformatted"; exit 1; }; }
	go vet $(PACKAGES)
	cd $(APART) && GOWORK=off go vet ./...
	@set -e; for module in $(MODULES); do echo "golangci-lint: $$module"; (cd $$module && $(TOOL) golangci-lint run ./...); done
	go run ./harness/cmd/prony report lint
	cd ci/tools && GOWORK=off go run ./words
	cd engine && $(TOOL) actionlint $(addprefix ../,$(wildcard .github/workflows/*.yml))
	cd engine/proto && $(TOOL) buf lint --path prony
	cd engine/proto && $(TOOL) buf format --path prony --diff --exit-code

fmt: ## Write the formatting of Go files and the schema
	cd engine && $(TOOL) gofumpt -w $(MODULES:%=../%)
	cd engine/proto && $(TOOL) buf format --path prony --write

generate: proto schema readme pages baselines ## Regenerate all that is generated: protobuf code, JSON schemas, what READMEs copy, report pages, and what baselines observed

proto: $(HTTP_RULES) ## Regenerate engine/queuepb, engine/adminpb, engine/peerpb, the REST gateways and the OpenAPI files from engine/proto
	rm -rf engine/queuepb engine/adminpb engine/peerpb engine/rest/gateway engine/rest/openapi
	cd engine/proto && $(TOOL) buf generate
	cd ci/tools && GOWORK=off go run ./openapi31 ../../engine/rest/openapi

proto-bundle: $(HTTP_RULES) ## Write to bin/proto-bundle the .proto files from which clients in other languages are generated
	rm -rf bin/proto-bundle
	mkdir -p bin/proto-bundle/prony
	cp -R engine/proto/google bin/proto-bundle/
	cp -R engine/proto/prony/queue engine/proto/prony/admin bin/proto-bundle/prony/
	cp LICENSE bin/proto-bundle/

$(HTTP_RULES): ci/tools/go.mod ci/tools/httprules/main.go
	cd ci/tools && GOWORK=off go run ./httprules ../../engine/proto

schema: ## Write the JSON schemas of results again from their Go types
	cd harness && go run ./cmd/schema

readme: ## Copy the files and published runs that the READMEs show again; `go run ./harness/cmd/readme` measures the rest
	go run ./harness/cmd/readme -files

pages: build ## Render the pages under reports/ again from the data and the sources there
	@[ ! -d reports/data ] || bin/prony report reports/data/* --out reports/scenarios
	@[ ! -d reports/selftest ] || bin/prony gate selftest --for 0 --bank reports/selftest --publish reports
	bin/prony ratchet page
	bin/prony history page
	bin/prony report set

baselines: build ## Write into baselines/ what the published runs observed, and which configurations the limits are for
	bin/prony baseline propose --write reports/data/* scenarios/*.hcl scenarios/faults/*.hcl

perf-smoke: build ## Measure the smoke set beside the baseline build, say what broke
	ci/perf-smoke

vuln: ## Look for known vulnerabilities with govulncheck
	ci/vuln $(MODULES)

clean: ## Remove bin/; runs/ holds measurements and is left alone
	rm -rf bin
