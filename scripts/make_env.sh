#!/bin/sh
# Writes .env for docker-compose.yml with strong passwords: sh scripts/make_env.sh https://bapo.example.org [FILE]
# An existing file is never touched: the databases keep the passwords with which they were made.
set -eu

die() {
    printf '%s\n' "bapo: $*" >&2
    exit 1
}

[ $# -ge 1 ] || die "say under which address people open the dashboard: sh $0 https://bapo.example.org"
url=$1
file=${2:-.env}
case "$url" in
http://?* | https://?*) ;;
*) die "$url is no address: give one such as https://bapo.example.org" ;;
esac
case "$url" in *[!A-Za-z0-9:/._~%-]* | *\[* | *\]*) die "$url holds a character that .env cannot hold: give the bare address" ;; esac
[ ! -e "$file" ] || die "$file exists: its passwords are those of the databases; move it away to start anew"

# 256 bits, in letters that need no quoting in an address.
password() {
    od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}

umask 077
cat >"$file.new" <<END
BAPO_PUBLIC_URL=$url
BAPO_POSTGRES_PASSWORD=$(password)
BAPO_REDIS_PASSWORD=$(password)
END
# Of two at once, one writes the file.
ln "$file.new" "$file" 2>/dev/null || { rm -f "$file.new"; die "$file exists"; }
rm -f "$file.new"
printf '%s\n' "bapo: wrote $file, which only you can read. Keep a copy: without it the data cannot be opened."
