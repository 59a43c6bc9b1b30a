# Every target does its own set-up, so that each works in a fresh clone. What is made lands in .venv, .cache and node_modules.

SHELL := /bin/bash
BIN := .venv/bin
KAFKA_JARS := .cache/kafka-jars/.complete
SPRING_JARS := .cache/spring-jars/.complete
CONFLUENT_JARS := .cache/confluent-jars/.complete
CLASS_ARCHIVES := .cache/class-archives/.complete
SPARK_JARS := .cache/spark-jars/.complete
KAFKAJS := tests/clients/kafkajs
NODE_MODULES := $(KAFKAJS)/node_modules/.package-lock.json

# A Python of your choice: make install PYTHON=/opt/python3.13/bin/python3
PYTHON ?=
# How many tests run at once; 0 for one after the other, in this process: make test WORKERS=0
WORKERS ?= auto
# More for pytest, the benchmark or the demo: make test ARGS="-k retention -x"
ARGS ?=

# A file's tests share what they have started, so they stay together; tests/conftest.py puts the long files first.
IN_PARALLEL = -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# The tests start Python hundreds of times: what one has compiled is for all, even where the machine says otherwise.
unexport PYTHONDONTWRITEBYTECODE

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' Makefile

.PHONY: install
install: .venv/.stoker ## make .venv with Stoker and all it is developed with

.PHONY: demo demo-group
demo: install ## 200,000 events through a pipeline of streams, Spark killed on the way, and the books checked
	@$(call need,java,a JRE (17 or newer))
	$(BIN)/stoker demo $(ARGS)

demo-group: install ## 500,000 orders through an embedded broker and a group that loses a member
	$(BIN)/python examples/orders.py $(ARGS)

.PHONY: test
test: ## run the tests, foreign clients included; a chosen few on a three-broker Apache Kafka, too
	@$(MAKE) --no-print-directory -j4 set-up
	$(BIN)/pytest $(IN_PARALLEL) $(ARGS)

.PHONY: test-kafka
test-kafka: ## run all tests of clients, groups, transactions, registry, Spark, streams and SQL on both, Stoker and Apache Kafka; and those that move replicas of three brokers
	@$(MAKE) --no-print-directory -j4 set-up
	$(BIN)/pytest $(IN_PARALLEL) --against=both -m "(backend or three_brokers) and not soak" $(ARGS)

.PHONY: clients
clients: ## run only the tests in which foreign clients talk to Stoker
	@$(MAKE) --no-print-directory -j4 set-up
	$(BIN)/pytest $(IN_PARALLEL) -m "clients and not soak" $(ARGS)

.PHONY: soak
soak: ## run the long fault and fuzz tests
	@$(MAKE) --no-print-directory -j4 set-up
	$(BIN)/pytest -m soak --timeout=0 --hypothesis-profile=soak $(ARGS)

.PHONY: in-doubt
in-doubt: install kafka-jars ## kill Stoker and Apache Kafka between the decision of a transaction and its markers
	$(BIN)/python -m tools.in_doubt $(ARGS)

.PHONY: bench bench-broker bench-groups bench-transactions bench-compaction bench-cli bench-registry bench-spark bench-streams
bench: bench-broker bench-groups bench-transactions bench-compaction bench-cli bench-registry bench-spark bench-streams ## measure Stoker beside Apache Kafka and write docs/benchmarks*.md

bench-broker: install kafka-jars ## of these, throughput, latency, memory, start
	$(BIN)/python benchmarks/broker.py $(ARGS)

bench-groups: install kafka-jars ## of these, consumer groups
	$(BIN)/python benchmarks/groups.py $(ARGS)

bench-transactions: install kafka-jars ## of these, transactions
	$(BIN)/python benchmarks/transactions.py $(ARGS)

bench-compaction: install kafka-jars ## of these, compaction, and the start after a million commits
	$(BIN)/python benchmarks/compaction.py $(ARGS)

bench-cli: install kafka-jars ## of these, the command line
	$(BIN)/python benchmarks/cli.py $(ARGS)

bench-registry: install kafka-jars ## of these, the schema registry, beside a bare route of Starlette
	$(BIN)/python benchmarks/registry.py $(ARGS)

bench-spark: install kafka-jars spark-jars ## of these, topics in Spark, beside Spark's own connector
	$(BIN)/python benchmarks/spark.py $(ARGS)

bench-streams: install kafka-jars ## of these, streams, beside Kafka Streams
	$(BIN)/python benchmarks/streams.py $(ARGS)

.PHONY: lint
lint: install ## check style, types and the layers of the rooms
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: install ## sort the imports and format the code
	$(BIN)/ruff check --select I --fix
	$(BIN)/ruff format

.PHONY: acceptance
acceptance: install ## write docs/acceptance.md from the tests' acceptance markers
	$(BIN)/python -m tools.acceptance

.PHONY: docs
docs: acceptance ## write the pages of docs/ that are made from the code
	$(BIN)/python -m stoker.broker.apis.document > docs/compatibility.md
	$(BIN)/python -m stoker.broker.config.document > docs/configuration.md
	$(BIN)/python -m stoker.cli.document docs/cli.md
	$(BIN)/python -m stoker.registry.document docs/registry.md
	$(BIN)/python -m stoker.spark.document docs/spark.md
	$(BIN)/python -m stoker.streams.document docs/streams.md
	$(BIN)/python -m stoker.streams.sql.document docs/sql.md
	$(BIN)/python -m stoker.capacity.document docs/scaling.md

.PHONY: lock
lock: .cache/uv/bin/uv ## pin and hash the dependencies of pyproject.toml (ARGS=--upgrade for newer ones)
	$(UV_COMPILE) pyproject.toml -o requirements/runtime.txt
	$(UV_COMPILE) pyproject.toml --group dev -c requirements/runtime.txt -o requirements/development.txt

.PHONY: kafka-jars
kafka-jars: $(KAFKA_JARS) ## fetch Apache Kafka's jars for tests and benchmarks

.PHONY: spring-jars
spring-jars: $(SPRING_JARS) ## fetch Spring Kafka's jars for the tests

.PHONY: confluent-jars
confluent-jars: $(CONFLUENT_JARS) ## fetch Confluent's serializers for Java for the tests

.PHONY: spark-jars
spark-jars: $(SPARK_JARS) ## fetch Spark's own Kafka connector for the benchmarks

.PHONY: node-modules
node-modules: $(NODE_MODULES) ## fetch kafkajs for the tests

.PHONY: kcat
kcat: ## install kcat for the tests (Debian and Ubuntu, as root)
	@if command -v kcat >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing kcat"; \
		export DEBIAN_FRONTEND=noninteractive; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends kcat </dev/null >/dev/null; \
	else \
		echo "kcat is not installed, so its tests are skipped: apt install kcat, or brew install kcat" >&2; \
	fi

.PHONY: curl
curl:
	@$(call need,curl,curl)

.PHONY: clean
clean: ## remove all that make has made
	rm -rf .venv .cache $(KAFKAJS)/node_modules build dist
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What the tests need; apart, so that its parts are fetched side by side.
.PHONY: set-up
set-up: install $(CLASS_ARCHIVES) spring-jars confluent-jars node-modules kcat curl

# `$(call need,program,package)` stops with the name of what to install.
need = command -v $(1) >/dev/null || { echo "$(1) is not installed: install $(2)" >&2; exit 1; }

.venv/.requirements: requirements/development.txt
	@echo "making .venv"
	@python=; for each in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14; do \
		if $$each -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$each; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "no Python 3.11 or newer that can make a virtual environment: install python3 and python3-venv" >&2; exit 1; \
	fi; \
	[ -x $(BIN)/pip ] && $(BIN)/python -c '' || $$python -m venv --clear .venv
	@$(BIN)/pip install -q --only-binary :all: --no-binary pyspark --require-hashes -r requirements/development.txt
	@touch $@

.venv/.stoker: .venv/.requirements pyproject.toml
	@$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	@touch $@

$(KAFKA_JARS): tests/java/pom.xml
# One after the other: two Mavens at once would write the same files of ~/.m2.
$(SPRING_JARS): tests/clients/spring/pom.xml | $(KAFKA_JARS)
$(CONFLUENT_JARS): tests/registry/clients/java/pom.xml | $(SPRING_JARS)
$(SPARK_JARS): benchmarks/java/pom.xml | $(KAFKA_JARS)
# Alone: what it needs is inside of it, and its parents name places where not everybody may fetch.
$(CONFLUENT_JARS): GOAL := copy
$(KAFKA_JARS) $(SPRING_JARS) $(SPARK_JARS): GOAL := copy-dependencies
$(KAFKA_JARS) $(SPRING_JARS) $(CONFLUENT_JARS) $(SPARK_JARS):
	@$(call need,mvn,a JDK (17 or newer) and Maven)
	@echo "fetching $(notdir $(@D))"
	@rm -rf $(@D)
	@mvn -q -B -Dstyle.color=never -f $< dependency:$(GOAL) -DoutputDirectory=$(CURDIR)/$(@D) </dev/null
	@touch $@

# Of other jars, or made by another Java, they are passed over, and JVMs start as slowly as ever.
$(CLASS_ARCHIVES): tests/class_archives.py .venv/.stoker $(KAFKA_JARS)
	@echo "making archives of Java's classes"
	@$(BIN)/python -m tests.class_archives </dev/null
	@touch $@

$(NODE_MODULES): $(KAFKAJS)/package-lock.json
	@$(call need,npm,Node.js with npm)
	@echo "fetching kafkajs"
	@npm ci --prefix $(KAFKAJS) --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null
	@touch $@

# Without annotations and index lines the files say nothing of the machine they were made on.
UV_COMPILE = .cache/uv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --custom-compile-command "make lock" $(ARGS)

.cache/uv/bin/uv:
	@python3 -m venv .cache/uv
	@.cache/uv/bin/pip install -q uv
