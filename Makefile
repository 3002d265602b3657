# Every target is a script in scripts/; this file is their table of contents.

.PHONY: help demo dashboard test soak services sbom check

help: ## print this list
	@sed -n 's/^\([a-z]*\): ## /  make \1\t/p' Makefile | expand -t 18

demo: ## build the product and show it at work
	@scripts/demo

dashboard: ## build the dashboard, which the program then embeds
	@scripts/dashboard

test: ## run every test, with a private PostgreSQL and RabbitMQ
	@scripts/test

soak: ## run the long campaigns: kills, races, random worlds
	@scripts/soak

services: ## keep a private PostgreSQL and RabbitMQ running for work by hand
	@scripts/services

sbom: ## write the bill of materials (CycloneDX) of the program to target/sbom.json
	@mkdir -p target && scripts/sbom > target/sbom.json

check: ## check formatting, lints, documentation, licences and dependencies
	@scripts/check
