# Targets for developers. CI runs .ci/run, which calls the same targets.

# The last module is not in go.work: its browser driver and k6 need different versions of
# github.com/chromedp/cdproto.
APART    := harness/browser
MODULES  := engine harness harness/k6 harness/peers $(APART)
PACKAGES := $(patsubst %,./%/...,$(filter-out $(APART),$(MODULES)))

# The packages whose tests take the longest. They start first, so that none of them runs alone at the
# end. Packages that need the CPU alternate with packages that wait for elections and leases.
LONGEST := $(addprefix ./,harness/run engine/node engine/replica harness/cmd/prony engine/cmd/queued engine/rpc engine/storage engine/shard \
	engine/cluster harness/gate harness/load harness/ci harness/attack harness/k6/e2e harness/duet harness/soak harness/serial)

# The dev tools are pinned in ci/tools/go.mod and built by the go command at first use. -modfile needs a
# main module to stand in, so each tool is called from a module's folder.
TOOL := GOWORK=off go tool -modfile='$(CURDIR)/ci/tools/go.mod'

# The binaries have their commit, and whether the tree had changes, in debug.BuildInfo. Without a git
# repository they are built without it.
BUILDVCS := $(shell git rev-parse --git-dir >/dev/null 2>&1 && echo auto || echo false)

# The schema of google.api.http, which the engine's schema imports. It is generated, and git ignores it.
HTTP_RULES := engine/proto/google/api/http.proto

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build k6 peers axe dist test test-long golden race lint fmt generate proto proto-bundle zones schema readme pages baselines perf-smoke vuln clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/prony and bin/queued
	@mkdir -p bin
	go build -buildvcs=$(BUILDVCS) -o bin/ ./engine/cmd/queued ./harness/cmd/prony

# It links all of k6, which takes a minute the first time. Optional: only needed to load the engine from k6.
k6: ## Build bin/k6, which is k6 with the extension of harness/k6
	@mkdir -p bin
	go build -buildvcs=$(BUILDVCS) -o bin/ ./harness/k6/cmd/k6

# A separate program, because it links the clients of all other queue servers. ci/peers.sh installs these servers.
peers: ## Build bin/prony-peers, the driver program for other queue servers
	@mkdir -p bin
	go build -buildvcs=$(BUILDVCS) -o bin/ ./harness/peers/cmd/prony-peers

dist: ## Build the binaries of the tagged release VERSION for Linux, with SBOMs and checksums: make dist VERSION=v1.2.3
	ci/dist $(VERSION)

# Many tests wait for elections, leases and windows, so two packages for each core keep the cores busy. The tests of
# harness/peers start clusters of the installed other servers. They run last, because they take both cores. -count=1:
# tests read baselines, scenarios and pages outside of their module, and the go command would reuse a cached pass
# although one of these files has changed. The tests of the two build tags share one build, because it compiles and
# links most of the engine again. Without debugging information (-w), linking a test takes half the CPU time.
test: ## Run the short form of all tests of all modules
	go test -count=1 -ldflags=-w -p $$((2 * $$(getconf _NPROCESSORS_ONLN))) -timeout 10m $(LONGEST) $(filter-out ./harness/peers/...,$(PACKAGES))
	go test -count=1 -ldflags=-w -timeout 10m ./harness/peers/...
	cd $(APART) && GOWORK=off go test -count=1 -ldflags=-w ./...
	go test -ldflags=-w -tags planted,serialbudget -timeout 10m -run 'Planted|Begin|WaitSleeps|Decay|Background|AClient|Noop|SerialBudget' \
		./engine/internal/planted/... ./engine/internal/serialbudget ./engine/shard ./engine/rpc ./engine/node

axe: ## Fetch bin/axe.min.js, which the long tests use to check the accessibility of the HTML pages
	ci/axe

# The packages with golden files of the package engine/golden.
golden: ## Write the golden files of the tests again: read the difference before you commit it
	PRONY_GOLDEN=write go test -count=1 $$(grep -rl --include='*_test.go' 'prony/engine/golden"' engine harness | xargs -n1 dirname | sort -u | sed 's,^,./,')

test-long: ## Run the long form of the tests, which takes hours: kills, power failures, combined faults, damaged files, injected faults, memory
	ci/test-long

race: ## Run the short form of all tests under the race detector
	go test -race -timeout 30m $(PACKAGES)

lint: $(HTTP_RULES) ## Check formatting, golangci-lint, the documents, added text, the workflows and the schema; changes nothing
	@cd engine && unformatted=$$($(TOOL) gofumpt -l $(MODULES:%=../%)) && \
		{ [ -z "$$unformatted" ] || { echo "not formatted, run 'make fmt':"; echo "$$unformatted"; exit 1; }; }
	@set -e; for module in $(MODULES); do echo "golangci-lint: $$module"; (cd $$module && $(TOOL) golangci-lint run ./...); done
	go run ./harness/cmd/prony report lint
	cd ci/tools && GOWORK=off go run ./words
	cd engine && $(TOOL) actionlint $(addprefix ../,$(wildcard .github/workflows/*.yml))
	cd engine/proto && $(TOOL) buf lint --path prony
	cd engine/proto && $(TOOL) buf format --path prony --diff --exit-code

fmt: ## Write the formatting of Go files and the schema
	cd engine && $(TOOL) gofumpt -w $(MODULES:%=../%)
	cd engine/proto && $(TOOL) buf format --path prony --write

generate: proto schema readme pages baselines ## Regenerate all generated files: protobuf code, JSON schemas, copies in READMEs, report pages, and observed values of baselines

proto: $(HTTP_RULES) ## Regenerate engine/queuepb, engine/adminpb, engine/peerpb, the REST gateways and the OpenAPI files from engine/proto
	rm -rf engine/queuepb engine/adminpb engine/peerpb engine/rest/gateway engine/rest/openapi
	cd engine/proto && $(TOOL) buf generate
	cd ci/tools && GOWORK=off go run ./openapi31 ../../engine/rest/openapi

proto-bundle: $(HTTP_RULES) ## Write the .proto files for generating clients in other languages to bin/proto-bundle
	rm -rf bin/proto-bundle
	mkdir -p bin/proto-bundle/prony
	cp -R engine/proto/google bin/proto-bundle/
	cp -R engine/proto/prony/queue engine/proto/prony/admin bin/proto-bundle/prony/
	cp LICENSE bin/proto-bundle/

# Not a part of generate, because the result depends on the version of Go.
zones: ## Update the time zone data in engine/schedule from the Go distribution
	cp $$(go env GOROOT)/lib/time/zoneinfo.zip engine/schedule/zoneinfo.zip

$(HTTP_RULES): ci/tools/go.mod ci/tools/httprules/main.go
	cd ci/tools && GOWORK=off go run ./httprules ../../engine/proto

schema: ## Regenerate the JSON schemas of results from their Go types
	cd harness && go run ./cmd/schema

readme: ## Update the files and published runs that the READMEs show; `go run ./harness/cmd/readme` also repeats the measurements
	go run ./harness/cmd/readme -files

pages: build ## Render the pages under reports/ from the data and the sources there
	@[ ! -d reports/data ] || bin/prony report reports/data/* --out reports/scenarios
	@[ ! -d reports/selftest ] || bin/prony gate selftest --for 0 --bank reports/selftest --publish reports
	bin/prony ratchet page
	bin/prony history page
	bin/prony report set

baselines: build ## Write the values observed in published runs, and the configurations of the limits, to baselines/
	bin/prony baseline propose --write reports/data/* scenarios/*.hcl scenarios/faults/*.hcl

perf-smoke: build ## Measure the smoke set together with the baseline build, and report broken limits
	ci/perf-smoke

vuln: ## Check for known vulnerabilities with govulncheck
	ci/vuln $(MODULES)

clean: ## Remove bin/, but not the measurements in runs/
	rm -rf bin
