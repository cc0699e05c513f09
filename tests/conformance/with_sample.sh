#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the sample release if it is not there, and runs a command with the directory of its dataset repo behind it.
# usage: with_sample.sh SAMPLE VENV COMMAND [ARGUMENT…]
set -eu
sample=$1
venv=$2
shift 2
sh "$(dirname "$0")/../release/sample.sh" "$sample" "$venv"
exec "$@" "$sample/dataset"
