#!/bin/sh
# Writes .env for docker-compose.yml and, beside it, a folder with strong passwords, one file each:
#   sh scripts/make_env.sh https://bapo.example.org [FILE]
# What exists is never touched: the databases keep the passwords with which they were made.
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

folder=$(CDPATH='' cd -- "$(dirname -- "$file")" && pwd)/$(basename -- "$file").secrets
case "$folder" in *[!A-Za-z0-9/._~@+-]*) die "$folder holds a character that .env cannot hold: keep it under a plainer path" ;; esac
[ ! -e "$folder" ] || die "$folder exists: its passwords are those of the databases; move it away to start anew"

umask 077
# Of two at once, one makes the folder.
mkdir "$folder" 2>/dev/null || die "$folder cannot be made: choose another place for $file"
password >"$folder/postgres-password"
password >"$folder/redis-password"
# The services in the containers are other accounts. On this machine, the folder keeps others out.
chmod 444 "$folder/postgres-password" "$folder/redis-password"
cat >"$file" <<END
BAPO_PUBLIC_URL=$url
BAPO_SECRETS=$folder
END
printf '%s\n' "bapo: wrote $file and $folder, which only you can read. Keep a copy: without it the data cannot be opened."
