#!/bin/sh
# Groups of many tables, several files at a time: each file's accumulator is saved, and merging them gives the bits of one
# run over all files.  With the accumulators on a shared folder, the same goes for many machines.
#
#     many_files.sh FOLDER        of *.csv with the columns region and price; warpfold must be on PATH
set -eu
folder=$1
saved=$(mktemp -d)
trap 'rm -rf "$saved"' EXIT

export saved
find "$folder" -name '*.csv' -print0 | sort -z | xargs -0 -n 1 -P 4 sh -c '
    warpfold sum,mean,max --by region --column price --save "$saved/$(basename "$1").acc" "$1" >"$saved/out.$$"' sh
warpfold merge --sort "$saved"/*.acc
