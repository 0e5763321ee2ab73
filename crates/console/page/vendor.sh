#!/usr/bin/env bash
# Copies the libraries of the console from npm to vendor/, with their licences. The versions and
# checksums are those of package-lock.json.
set -euo pipefail
cd "$(dirname "$0")"
npm ci --silent --ignore-scripts --no-audit --no-fund
modules=node_modules
mkdir -p vendor
# The browser resolves a bare module name only with an import map, which the page does not have.
local_imports() {
    sed -e 's#from"preact"#from"./preact.js"#g' -e '/^\/\/# sourceMappingURL=/d' "$1"
}
local_imports $modules/preact/dist/preact.mjs > vendor/preact.js
local_imports $modules/preact/hooks/dist/hooks.mjs > vendor/hooks.js
local_imports $modules/htm/dist/htm.module.js > vendor/htm.js
{
    cat $modules/uplot/dist/uPlot.iife.min.js
    echo
    echo 'export default uPlot;'
} > vendor/uPlot.js
cp $modules/uplot/dist/uPlot.min.css vendor/uPlot.css
for name in htm preact uplot; do
    cp $modules/$name/LICENSE "vendor/LICENSE-$name"
done
rm -r $modules
wc -c vendor/*
