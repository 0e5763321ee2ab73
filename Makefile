# On a new machine, start with `make run` and `make test`.
.DEFAULT_GOAL := help
.PHONY: help run sim sim-night sim-mutants mutants coverage sam-env dev load bench bench-counts own-code demo lesson test-lessons test invoke event plan token docs models picture build deploy undeploy lint lint-template deny lake-sql report sql backfill verify compact test-analytics test-lake test-slow test-whole test-lambda test-openapi test-clients test-sam test-tools test-console console-vendor tools test-dev test-smoke test-deploy test-dynamodb-local smoke need need-java need-python need-valgrind need-peers need-postgres need-clients

# The Runtime Interface Emulator, which `sam local invoke` also uses.
EMULATOR = $(CURDIR)/.venv/sam/lib/*/site-packages/samcli/local/rapid/aws-lambda-rie-$(if $(filter arm64 aarch64,$(shell uname -m)),arm64,x86_64)
LOCAL = cargo run --quiet --bin local --
# The stack is a development build, unless PROFILE is given.
STACK_PROFILE = $(if $(filter command,$(firstword $(origin PROFILE))),$(PROFILE),dev)
BINARY = target/$(STACK_PROFILE:dev=debug)/local
SERVE = $(BINARY) run --port $(PORT) --dynamodb-port $(DYNAMODB_PORT) --lake $(LAKE) $(if $(DATA),--data $(DATA)) $(STACKS:%=--stack %) $(ARGS)
PORT ?= 3000
DYNAMODB_PORT ?= 8000
LAKE ?= lake
# A clean build is a quarter faster without incremental compilation, and takes half of the space. The
# first `make dev` or `cargo build` starts it, and later builds keep it
# (docs/decisions/build-time.md).
export CARGO_INCREMENTAL ?= $(if $(wildcard target/debug/incremental/*),1,0)
TEMPLATES = template.yaml $(wildcard stacks/*.yaml stacks/issuers/*.yaml)
FUNCTIONS ?= $(basename $(notdir $(wildcard crates/*/src/bin/*.rs)))
# The largest functions with the SDK client of a further service. Link-time optimisation makes their
# zip files a fifth smaller, and takes most of a minute for each (docs/decisions/profile.md).
LARGE = continue-bank-job continue-job convert-export create-employee-import create-file execute-payment export-changes \
	react-to-transactions reconcile
SMALL = $(filter-out $(LARGE),$(FUNCTIONS))
PROFILE ?= release
# Build directory of cargo. If you set this variable, set CARGO_TARGET_DIR to the same directory.
TARGET ?= target
# glibc of Lambda's runtime provided.al2023.
GLIBC = 2.34
ARCHITECTURE ?= x86_64
TRIPLE = $(if $(filter arm64,$(ARCHITECTURE)),aarch64,x86_64)-unknown-linux-gnu
# One build command for all services, so that they share the compiled dependencies.
LAMBDAS = --package bank --package cart --package wellness --package ledger --package lake
REPORT ?= report.html
CONNECTIONS ?= 32
SECONDS ?= 10
SLOW ?= seats:: each_of_20_000
WHOLE ?= an_interrupted_creation crashes input pages
SUITES ?= contract::*::who_may contract::*::repeats contract::*::at_once contract::*::pages system::table_calls

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: need ## Run the local stack: API on PORT (3000), DynamoDB on DYNAMODB_PORT (8000), data in DATA or in memory, lake files in LAKE (lake), only some services with STACKS="bank ledger", faults of AWS with ARGS='--hostile 1', optimised with PROFILE=release
	@cargo build --quiet --profile $(STACK_PROFILE) --bin local
	@exec $(SERVE)

dev: DATA ?= .data/dev
dev: STACK_PROFILE = dev
dev: export CARGO_INCREMENTAL = 1
dev: need need-python ## Run the local stack, and restart it when a source file changes; keeps the data in DATA (.data/dev)
	@mkdir -p $(dir $(DATA))
	@exec python3 crates/local/dev.py $(PORT) $(SERVE)

demo: need ## Show every access pattern: request, key condition, response, consumed units
	@$(LOCAL) demo $(ARGS)

lesson: need need-python ## Play a lesson of docs/learn: NAME=hot-partition
	@cargo build --quiet --bin local
	@python3 lessons/run.py target/debug/local $(or $(NAME),?)

test-lessons: need need-python ## Play all lessons, and compare them with docs/learn; ARGS=--write changes the pages
	@cargo build --quiet --bin local
	python3 lessons/run.py target/debug/local $(or $(ARGS),--check)

test: need ## Run the tests, check that no function has unused permissions, and print the ten slowest parts; or only some cases of the contract: ROW='cart add-cart-item other'
	@$(if $(ROW),ROW='$(ROW)' tests/row.sh,tests/run.sh)

invoke: need ## Invoke a function with an event or a file: FUNCTION=list-due-payments EVENT=list-due-payments.no-such-day
	@$(LOCAL) invoke $(FUNCTION) $(EVENT) $(ARGS)

event: need ## Print an event, or the names of all events: EVENT=list-due-payments.no-such-day
	@$(LOCAL) event $(EVENT) $(ARGS)

sam-env: need ## Write target/sam-env with the environment variables for `sam local invoke` on the tables of `make run`
	@$(LOCAL) sam-env --dynamodb-port $(DYNAMODB_PORT) $(ARGS)

token: need ## Print a token: ARGS='--scope bank:read --account Account1'
	@$(LOCAL) token $(ARGS)

plan: need ## Print the capacity and the cost of the bank's day, and the cost of the other services, or the shards for a single rate: ARGS='--payments 1000000 --minutes 30 --kilobytes 8 --moves 1'
	@cargo run --quiet --bin plan -- $(ARGS)

docs: need ## Generate the derived parts of docs/ and the templates
	UPDATE_DOCS=1 tests/some.sh --quiet --package system-tests --test system -- registry::
	UPDATE_DOCS=1 tests/some.sh --quiet --package system-tests --test contract -- units
	UPDATE_DOCS=1 tests/some.sh --quiet --package system-tests --test system -- --test-threads=1 docs:: lake_tables:: openapi::is_generated published::pages

models: need ## Write the data models of the tables to target/models, for NoSQL Workbench
	MODELS=$(CURDIR)/target/models tests/some.sh --quiet --package system-tests --test system -- workbench::models

picture: .venv/bin/.pyyaml ## Draw docs/architecture.svg from template.yaml and stacks/
	.venv/bin/python tests/template/draw.py

# Builds the dependencies with machine code and bitcode. LARGE is linked from the bitcode, and all
# other functions from the machine code, so the dependencies are built only once. zig links against
# the glibc of Lambda, even if this machine has a newer one (docs/decisions/profile.md).
build own-code: export RUSTFLAGS += -C embed-bitcode=yes
build own-code: export PATH := $(CURDIR)/.venv/bin:$(PATH)
build: need .venv/bin/cargo-zigbuild ## Build the release binaries of all functions, or of FUNCTIONS, as target/lambda/<function>/bootstrap for sam; ARCHITECTURE=arm64 builds for that processor
	@rustup target list --installed | grep -q '^$(TRIPLE)$$' || rustup target add $(TRIPLE)
	$(if $(SMALL),cargo zigbuild --profile $(PROFILE) --target $(TRIPLE).$(GLIBC) $(LAMBDAS) $(SMALL:%=--bin %))
	@for name in $(filter $(LARGE),$(FUNCTIONS)); do package=$$(echo crates/*/src/bin/$$name.rs | cut -d / -f 2); cargo-zigbuild rustc --profile $(PROFILE) --target $(TRIPLE).$(GLIBC) --package $$package --bin $$name -- -C lto=fat || exit 1; done
	@for name in $(FUNCTIONS); do mkdir -p target/lambda/$$name && cp $(TARGET)/$(TRIPLE)/$(PROFILE)/$$name target/lambda/$$name/bootstrap || exit 1; done
	@python3 stacks/symbols.py $(GLIBC) $(FUNCTIONS:%=target/lambda/%/bootstrap)

deploy: .venv/sam/bin/sam ## Deploy the built functions with the settings of samconfig.toml: all five stacks in turn, one with STACK=bank, or one stack of all services with STACK=system; ARGS=--check only checks, ARGS=--take-over uses the tables of a deleted stack
	@.venv/sam/bin/python stacks/deploy.py .venv/sam/bin/sam '$(STACK)' $(ARGS)

undeploy: .venv/sam/bin/sam ## Delete a stack and keep its tables and buckets: STACK=bank; ARGS=--delete-data also deletes them, ARGS=--yes does not ask
	@.venv/sam/bin/python stacks/undeploy.py '$(STACK)' $(ARGS)

lint: need ## Check the formatting and run clippy
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- --deny warnings

lint-template: export AWS_DEFAULT_REGION = us-east-1
lint-template: export SAM_CLI_TELEMETRY = 0
lint-template: .venv/sam/bin/sam .venv/checkov/bin/checkov ## Check template.yaml, stacks/ and events/ with sam, cfn-lint, checkov and tests/template, and docs/architecture.svg
	@for template in $(TEMPLATES); do .venv/sam/bin/sam validate --lint --template $$template || exit 1; done
	.venv/sam/bin/python tests/template/test_template.py
	.venv/sam/bin/python tests/template/test_events.py
	.venv/sam/bin/python tests/template/test_deploy.py
	.venv/sam/bin/python tests/template/test_issuers.py
	.venv/sam/bin/python tests/template/test_checks.py
	.venv/sam/bin/python tests/template/draw.py --check
	.venv/sam/bin/cfn-lint $(TEMPLATES) target/stacks/*.json
	.venv/checkov/bin/checkov --file $(TEMPLATES)

# Each tool has a separate Python environment, because the tools need different versions of boto3.
.venv/sam/bin/sam: PACKAGE = aws-sam-cli
.venv/checkov/bin/checkov: PACKAGE = checkov
.venv/sam/bin/sam .venv/checkov/bin/checkov:
	@command -v python3 >/dev/null || { echo "python3 is missing: it runs $(PACKAGE)"; exit 1; }
	python3 -m venv $(@D)/..
	$(@D)/pip install --quiet $(PACKAGE)

deny: need ## Check the licences, sources and duplicates of the dependencies
	@cargo deny --version >/dev/null 2>&1 || cargo install --quiet --locked --debug cargo-deny
	cargo deny check licenses bans sources

bench: need lake-sql need-valgrind need-peers need-postgres .tools/.packages .venv/bin/.duckdb own-code ## Run the benchmarks and regenerate docs/performance.md: PARTS='cold_start cost'; MILLION=1 also reads a day of a million payments
	@cargo build --quiet --bin local --bin plan
	@$(MAKE) build FUNCTIONS='schedule-payment get-payment list-account-payments export-changes'
	@cargo build --quiet --release --package measure --bin measure --package local --bin local
	.venv/bin/python bench/run.py $(PARTS)

sim: need ## Simulate the services with faults from a seed, and run the seeds of the planted bugs: SEED=1 CASES=100; or run a case again: REPLAY=target/sim/bank-7.json
	@cargo build --quiet --bin sim
	target/debug/sim $(if $(REPLAY),--replay $(REPLAY) --trace,--also tests/sim/found.json,tests/sim/mutants/seeds.json --seed $(or $(SEED),1) --cases $(or $(CASES),100) --out target/sim)

sim-night: need ## Simulate on all processors, and print the seeds that fail: SEED=1 CASES=100000
	@cargo build --quiet --bin sim
	seq $(or $(SEED),1) 1000 $$(($(or $(SEED),1) + $(or $(CASES),100000) - 1)) | xargs --max-procs=$$(nproc) -I '{}' target/debug/sim --seed '{}' --cases 1000 --keep-going --out target/sim

sim-mutants: need need-python ## Check that the simulation finds every planted bug with its recorded seed; search new seeds: SEARCH=1 LIMIT=2000 BUGS='archive claim'
	@python3 tests/sim/mutants/run $(if $(SEARCH),--limit $(or $(LIMIT),2000),--check) $(BUGS)

mutants: need need-python .venv/sam/bin/sam $(if $(DRAW),.tools/bin/cargo-mutants) ## Plant bugs that have no outcome yet, and run the tests until one fails: some of them with BUGS='cart cursor', also those with an outcome with AGAIN=1; a sample of cargo-mutants with SAMPLE=1, or draw it with DRAW=seed
	@tests/mutants/run $(if $(DRAW),--draw $(DRAW)) $(if $(SAMPLE),--sample) $(if $(AGAIN),--again) $(BUGS)

coverage: export RUST_TEST_THREADS ?= 4
coverage: need need-python .tools/bin/cargo-llvm-cov ## Write the lines and regions that the tests cover, by crate, to tests/mutants/coverage.json
	@rustup component list --installed | grep -q '^llvm-tools' || { echo "make coverage needs llvm-tools: rustup component add llvm-tools" >&2; exit 1; }
	mkdir -p target
	.tools/bin/cargo-llvm-cov llvm-cov --workspace --lib --test '*' --ignore-run-fail --json --summary-only --output-path target/coverage.json
	@python3 tests/mutants/coverage.py target/coverage.json

.tools/bin/cargo-mutants .tools/bin/cargo-llvm-cov:
	cargo install --quiet --locked --debug --root .tools $(@F)

bench-counts: need need-valgrind own-code ## Check the counts in docs/performance.md, but not the times
	@$(MAKE) build FUNCTIONS=schedule-payment
	@cargo build --quiet --bin local --bin measure --bin plan
	@python3 bench/run.py --check

# Built as the functions, so that they share the dependencies.
own-code: need .venv/bin/cargo-zigbuild
	@cargo zigbuild --quiet --release --target $(TRIPLE).$(GLIBC) $(LAMBDAS) --package own-code --bin own-code

load: need need-clients .tools/.packages ## Print the latency percentiles of routes of each service under load: CONNECTIONS=32 SECONDS=10, of an optimised stack with PROFILE=release
	@cargo build --quiet --profile $(STACK_PROFILE) --bin local
	@python3 bench/load.py $(BINARY) $(CONNECTIONS) $(SECONDS)

lake-sql: need ## Write the schemas and the SQL of the lake to target/lake-sql
	@cargo run --quiet --example lake-sql -- target/lake-sql

report: lake-sql .venv/bin/.duckdb ## Run the saved queries on LAKE (lake), print tables, and write a page per service, REPORT (report.html) for the cart: FROM=2026-12-01 TO=2026-12-31
	@.venv/bin/python analytics/report.py --lake $(LAKE) --output $(REPORT) $(FROM:%=--from %) $(TO:%=--to %)

sql: lake-sql .venv/bin/.duckdb-cli ## Open DuckDB on the lake, with a view of each table, or run one query: Q='select status, count(*) from payments group by status'
	@.venv/bin/python analytics/sql.py .venv/bin/duckdb $(LAKE) $(if $(Q),'$(subst ','\'',$(Q))')

backfill verify compact: lake-sql .venv/bin/.duckdb ## Add the items of the tables to the lake, compare the lake with the tables, or write the current states, on a running local stack
	@.venv/bin/python analytics/refresh.py $@ --lake $(LAKE) --url http://127.0.0.1:$(PORT) --dynamodb http://127.0.0.1:$(DYNAMODB_PORT)

test-analytics: lake-sql .venv/bin/.duckdb .venv/bin/.duckdb-cli .venv/bin/.sqlglot .venv/bin/ministack ## Check the SQL of analytics/ on DuckDB, with the Trino grammar, and through the Athena API of ministack
	.venv/bin/python analytics/test_queries.py
	.venv/bin/python analytics/test_lake.py

test-lake: need lake-sql .venv/bin/ministack .venv/bin/.boto3 .venv/bin/.pyyaml .venv/bin/.duckdb ## Send changes through emulated Firehose, S3, Glue and Athena, and check the results of the queries, of a backfill and of a verification
	@cargo build --quiet --bin local
	.venv/bin/python tests/lake/test_lake.py target/debug/local
	.venv/bin/python tests/lake/test_refresh.py target/debug/local

test-slow: need ## Run the tests that take minutes, or only the tests in SLOW
	tests/some.sh --workspace --test system --test proof -- --ignored $(SLOW)

test-whole: need ## Run the tests of large tables with all cases. make test runs a part of the cases
	WHOLE=1 tests/some.sh --package system-tests --test contract --test system -- $(WHOLE)

test-lambda: export CARGO_LAMBDA = $(CURDIR)/.venv/bin/cargo-lambda
test-lambda: need .venv/sam/bin/sam .venv/bin/cargo-lambda ## Run the binary of every function under AWS's emulator and cargo lambda; to test the output of `make build`, set BINARIES=$PWD/target/lambda
	cargo build --workspace --bins
	EMULATOR=$$(echo $(EMULATOR)) tests/some.sh --package system-tests --test system -- --ignored binaries::

test-sam: need .venv/sam/bin/sam ## Invoke every function with its events on the local tables, in the environment of `sam local invoke`
	@cargo build --quiet --workspace --bins
	.venv/sam/bin/python tests/sam/test_invoke.py target/debug/local target/debug

test-openapi: need .venv/bin/.schemathesis ## Send valid and invalid requests of docs/openapi.yaml to a local stack, with schemathesis: ARGS='--seed 2'
	@cargo build --quiet --bin local
	.venv/bin/python tests/openapi/test_answers.py target/debug/local $(ARGS)

test-clients: need need-clients need-java .clients/.packages .venv/clients/bin/openapi-python-client .venv/clients/bin/openapi-generator-cli ## Generate clients from docs/openapi.yaml with three generators, and call a local stack with two of them
	@cargo build --quiet --bin local
	.venv/clients/bin/python tests/clients/test_clients.py target/debug/local .clients

test-tools: need need-clients .tools/.packages .venv/tools/bin/aws ## Use a local stack with the AWS CLI, boto3, and dynamodb-admin in a browser
	@cargo build --quiet --bin local
	.venv/tools/bin/python tests/tools/test_tools.py target/debug/local .tools

test-console: need need-clients .tools/.packages ## Use the console of a local stack in Chromium: ITEMS=1000000 sets the items of the large table
	@cargo build --quiet --bin local
	node tests/console/test_console.mjs target/debug/local .tools

console-vendor: need-clients ## Copy the libraries of the console from npm to crates/console/page/vendor
	crates/console/page/vendor.sh

test-dev: need need-python ## Check that `make dev` restarts after a change and keeps the data
	@cargo build --quiet --bin local
	python3 tests/dev/test_dev.py target/debug/local

test-smoke: need ## Run the smoke test and the commands of the README on a local stack
	@cargo build --quiet --bin local
	python3 tests/smoke/test_readme.py target/debug/local
	python3 tests/smoke/test_local.py target/debug/local

test-deploy: .venv/sam/bin/sam .venv/bin/ministack ## Deploy the built functions to ministack, an emulator of AWS, and test them there: all stacks, each alone, and nested in one; or some of them with STACKS=bank; BINARIES=… names another folder with <function>/bootstrap
	.venv/sam/bin/python tests/deploy/test_lifecycle.py
	.venv/sam/bin/python tests/deploy/test_deployed.py $(or $(BINARIES),target/lambda) $(STACKS)

test-dynamodb-local: need need-java .dynamodb-local/DynamoDBLocal.jar ## Run the tests of the services on AWS's DynamoDB Local, or some of them with SUITES='system::cart::* contract::*::who_may'; docs/dynamodb-local.md lists the expected failures
	@command -v python3 >/dev/null || { echo "python3 is missing: it runs the checks in tests/"; exit 1; }
	@python3 tests/dynamodb_local/test_suites.py .dynamodb-local $(foreach suite,$(SUITES),'$(suite)')

# docs/dynamodb-local.md lists the tests that fail on this version.
.dynamodb-local/DynamoDBLocal.jar: PACKAGE = amplify-dynamodb-simulator@2.9.30
.dynamodb-local/DynamoDBLocal.jar:
	@command -v npm >/dev/null || { echo "npm is missing: it downloads DynamoDB Local, in the package $(PACKAGE)"; exit 1; }
	mkdir -p $(@D)
	cd $(@D) && tar -xzf "$$(npm pack --silent $(PACKAGE))" --strip-components=2 package/emulator && rm -f ./*.tgz

smoke: ## Check the HTTP contract of deployed stacks: bank=https://… cart=… wellness=… ledger=…, or URL=… for all, and TOKEN=… with the operate scopes
	@command -v python3 >/dev/null || { echo "python3 is missing: it runs the smoke test"; exit 1; }
	@TOKEN='$(TOKEN)' python3 tests/smoke/smoke.py $(foreach service,bank cart wellness ledger,$(if $($(service))$(URL),$(service)=$(or $($(service)),$(URL))))

.venv/bin/.duckdb .venv/bin/.duckdb-cli .venv/bin/.sqlglot .venv/bin/.boto3 .venv/bin/.pyyaml .venv/bin/.schemathesis:
	@command -v python3 >/dev/null || { echo "python3 is missing: it runs analytics/ and the checks in tests/"; exit 1; }
	python3 -m venv .venv
	.venv/bin/pip install --quiet $(@:.venv/bin/.%=%)
	@touch $@

# The versions of the generators. Other versions may generate other names.
.clients/.packages: PACKAGES = openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 @types/node@20
.clients/.packages: | need-clients
	mkdir -p $(@D)
	echo '{"private": true}' > $(@D)/package.json
	npm install --silent --no-audit --no-fund --prefix $(@D) $(PACKAGES)
	@touch $@

.venv/clients/bin/openapi-python-client: | need-clients
	python3 -m venv .venv/clients
	.venv/clients/bin/pip install --quiet openapi-python-client==0.29.1 ruff

# The package contains the generator, which needs Java.
.venv/clients/bin/openapi-generator-cli: .venv/clients/bin/openapi-python-client
	.venv/clients/bin/pip install --quiet openapi-generator-cli==7.26.0

.tools/.packages: PACKAGES = dynamodb-admin@5.3.3 playwright-core@1.56.1 autocannon@8.0.0 axe-core@4.14.1
.tools/.packages: | need-clients
	mkdir -p $(@D)
	echo '{"private": true}' > $(@D)/package.json
	npm install --silent --no-audit --no-fund --prefix $(@D) $(PACKAGES)
	@touch $@

.venv/tools/bin/aws: | need-clients
	python3 -m venv .venv/tools
	.venv/tools/bin/pip install --quiet boto3 awscli

# Installs all tools that .ci/run needs. Its parallel lanes must not install into the same environment
# at the same time.
tools: .venv/sam/bin/sam .venv/checkov/bin/checkov .venv/bin/.duckdb .venv/bin/.duckdb-cli .venv/bin/.sqlglot .venv/bin/.boto3 .venv/bin/.pyyaml
tools: .venv/bin/.schemathesis .venv/bin/ministack .venv/bin/cargo-lambda .venv/bin/cargo-zigbuild .dynamodb-local/DynamoDBLocal.jar
tools: .clients/.packages .venv/clients/bin/openapi-generator-cli .tools/.packages .venv/tools/bin/aws

# --no-deps omits the cross compiler, which the emulator does not need.
.venv/bin/cargo-lambda:
	@command -v python3 >/dev/null || { echo "python3 is missing: it installs cargo-lambda"; exit 1; }
	python3 -m venv .venv
	.venv/bin/pip install --quiet --no-deps cargo-lambda

.venv/bin/cargo-zigbuild:
	@command -v python3 >/dev/null || { echo "python3 is missing: it installs cargo-zigbuild"; exit 1; }
	python3 -m venv .venv
	.venv/bin/pip install --quiet cargo-zigbuild ziglang

.venv/bin/ministack:
	@command -v python3 >/dev/null || { echo "python3 is missing: it runs ministack"; exit 1; }
	python3 -m venv .venv
	.venv/bin/pip install --quiet 'ministack[full]'

need:
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust with rustup"; exit 1; }
	@command -v cc >/dev/null || { echo "cc is missing: install a C compiler, to build SQLite and the TLS library"; exit 1; }

need-python:
	@command -v python3 >/dev/null || { echo "python3 is missing: it watches the source files, and plants bugs"; exit 1; }

need-valgrind:
	@command -v valgrind >/dev/null || { echo "valgrind is missing: it counts the instructions of our own code"; exit 1; }

need-postgres:
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || { echo "PostgreSQL is missing: the ledger is compared with it (apt-get install postgresql)"; exit 1; }

need-peers:
	@for tool in node npm openssl go; do command -v $$tool >/dev/null || { echo "$$tool is missing: the cold start benchmark needs it"; exit 1; }; done
	@[ -d /usr/share/gocode/src/github.com/aws/aws-sdk-go-v2 ] || { echo "AWS's SDK for Go is missing: apt-get install golang-github-aws-aws-sdk-go-v2-dev"; exit 1; }

need-clients:
	@for tool in node npm python3; do command -v $$tool >/dev/null || { echo "$$tool is missing: it generates and runs the clients and tools"; exit 1; }; done

need-java:
	@command -v java >/dev/null || { echo "java is missing: DynamoDB Local and openapi-generator need it"; exit 1; }
