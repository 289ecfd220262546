# Functions for scripts that talk to GitHub. The token is in GH_TOKEN, the repository in GITHUB_REPOSITORY, and the address of the
# API in GITHUB_API_URL. Needs curl and jq.
# shellcheck shell=bash

# github METHOD PATH [BODY]: calls the API and prints the answer. It fails on any status that is not 2xx.
github() {
  local body=()
  [[ $# -lt 3 ]] || body=(--data-binary @-)
  # The token goes to curl as a file, so that it is in no list of processes.
  printf '%s' "${3:-}" | curl -sS --fail-with-body --max-time 30 -X "$1" "${body[@]}" \
    -H @<(printf 'Authorization: Bearer %s\n' "$GH_TOKEN") \
    -H 'Accept: application/vnd.github+json' -H 'X-GitHub-Api-Version: 2022-11-28' \
    "${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/$2"
}

# marked PATH MARKER: prints the first entry of the list at PATH that the workflows' own account wrote and whose body begins with
# MARKER; nothing if there is none. Others may write the marker too: their text is never changed. It reads 20 pages at most.
marked() {
  local page list found separator='?'
  [[ $1 != *\?* ]] || separator='&'
  for ((page = 1; page <= 20; page++)); do
    list=$(github GET "$1${separator}per_page=100&page=$page") || return
    found=$(jq -c --arg marker "$2" \
      'map(select(.user.login == "github-actions[bot]" and ((.body // "") | startswith($marker)))) | first // empty' <<<"$list") || return
    if [[ -n $found ]]; then
      printf '%s\n' "$found"
      return
    fi
    [[ $(jq length <<<"$list") == 100 ]] || return 0
  done
}
