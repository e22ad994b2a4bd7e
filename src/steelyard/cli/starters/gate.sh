#!/usr/bin/env bash
# Runs and measures a system, holds it against the accepted entry of the store in STEELYARD_STORE, and writes gate.md,
# gate.xml and outcome (pass, fail, insufficient, error) into the folder steelyard-ci. All settings are variables, of
# which nothing is expanded: STEELYARD_ and
#   TRUTH, and RUNS, one a line, or CONFIG of a run
#   PROFILE, MEASURES, MARGIN, OPTIONS   of `steelyard gate`, the second and last split at blanks outside of quotes
#   ACCEPT        true: this run becomes the baseline, by WHO and WHY; first: where no entry is accepted yet; else not
#   INSUFFICIENT  pass, where too few data to say are to pass; else they fail
set -euo pipefail

out=steelyard-ci status=2 accepted=false
mkdir -p "$out"
echo '*' >"$out/.gitignore"
rm -f "$out/gate.md" "$out/gate.xml"

finish() { # However this ends, there is a summary and an outcome.
  cat "$out/messages" >&2
  if [[ ! -s $out/gate.md ]]; then
    status=2
    { printf '## Steelyard gate: error\n\n' && tail -n 20 "$out/messages" | sed 's/^/    /'; } >"$out/gate.md"
  fi
  if [[ $accepted == true ]]; then printf '\nFrom now on, this run is the accepted baseline.\n' >>"$out/gate.md"; fi
  case $status in 0) outcome=pass ;; 1) outcome=fail ;; 3) outcome=insufficient ;; *) outcome=error ;; esac
  echo "$outcome" >"$out/outcome"
  if [[ $outcome == insufficient && ${STEELYARD_INSUFFICIENT:-} == pass ]]; then status=0; fi
  exit "$status"
}
exec 3>&2 2>"$out/messages"
trap 'exec 2>&3; finish' EXIT

lines() { # The lines of $1 that are not empty, as the array `words`.
  words=()
  local line
  while IFS= read -r line; do [[ -z $line ]] || words+=("$line"); done <<<"$1"
}
split() { # The words of $1, as the array `words`.
  xargs -r -n 1 printf '%s\n' <<<"$1" >"$out/words"
  lines "$(<"$out/words")"
}

lines "${STEELYARD_RUNS:-}"
runs=(${words[@]+"${words[@]}"})
measuring=()
if [[ -n ${STEELYARD_PROFILE:-} ]]; then measuring+=(--profile "$STEELYARD_PROFILE"); fi
split "${STEELYARD_MEASURES:-}"
for measure in ${words[@]+"${words[@]}"}; do measuring+=(--measure "$measure"); done
split "${STEELYARD_OPTIONS:-}"
gating=(${measuring[@]+"${measuring[@]}"} ${words[@]+"${words[@]}"})
if [[ -n ${STEELYARD_MARGIN:-} ]]; then gating+=(--margin "$STEELYARD_MARGIN"); fi

if [[ -n ${STEELYARD_CONFIG:-} ]]; then
  STEELYARD_STORE='' steelyard run "$STEELYARD_CONFIG" --output "$out/run"
  runs=("$out/run")
fi

accept=${STEELYARD_ACCEPT:-}
if [[ $accept != true ]]; then
  none=$(python -c 'import os, steelyard as sy
store = sy.Store(os.environ["STEELYARD_STORE"])
print(str(not store.exists or store.acceptances().is_empty()).lower())')
  if [[ $none == true && $accept == first ]]; then
    accept=true
  elif [[ $none == true ]]; then
    echo "No entry is accepted yet: the first run of the default branch will be the baseline." >&2
    exit
  fi
fi
if [[ $accept == true ]]; then
  steelyard evaluate "$STEELYARD_TRUTH" "${runs[@]}" ${measuring[@]+"${measuring[@]}"}
  steelyard history accept latest --who "${STEELYARD_WHO:-CI}" --why "${STEELYARD_WHY:-the first}"
  accepted=true
fi

status=0
steelyard gate "$STEELYARD_TRUTH" "${runs[@]}" "${gating[@]}" --baseline store:accepted \
  --junit "$out/gate.xml" --summary "$out/gate.md" || status=$?
