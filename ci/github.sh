# Functions for scripts that call GitHub's API. The token is in GH_TOKEN, the repository in GITHUB_REPOSITORY, and the address of the
# API in GITHUB_API_URL. Needs curl and jq.
# shellcheck shell=bash

# github METHOD PATH [BODY]: calls the API and prints the answer. It fails on any status that is not 2xx.
github() {
  local body=()
  [[ $# -lt 3 ]] || body=(--data-binary @-)
  # curl reads the token from a file, so that no list of processes shows it.
  printf '%s' "${3:-}" | curl -sS --fail-with-body --max-time 30 -X "$1" "${body[@]}" \
    -H @<(printf 'Authorization: Bearer %s\n' "$GH_TOKEN") \
    -H 'Accept: application/vnd.github+json' -H 'X-GitHub-Api-Version: 2022-11-28' \
    "${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/$2"
}

# marked PATH MARKER: prints the first entry of the list at PATH whose author is the workflows' account and whose body begins with
# MARKER, or nothing. Other users may write the marker too; their text is never changed. It reads at most 20 pages.
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
