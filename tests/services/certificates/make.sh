#!/usr/bin/env bash
# Makes the certificates of test_certificates.py, each signed by itself: trusted.pem and expired.pem are for localhost
# and 127.0.0.1, elsewhere.pem is for example.org.  key.pem is the private key of all; it protects nothing.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
openssl ecparam -name prime256v1 -genkey -noout -out key.pem
make() { # name, common name, alternative names, end
    : > "$work/index"
    cat > "$work/config" <<CONFIG
[ca]
default_ca = own
[own]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = names
unique_subject = no
[any]
commonName = supplied
[names]
subjectAltName = $3
basicConstraints = CA:TRUE
CONFIG
    openssl req -new -key key.pem -subj "/CN=$2" -out "$work/request"
    openssl ca -selfsign -batch -notext -config "$work/config" -keyfile key.pem -in "$work/request" -out "$1.pem" \
        -startdate 20200101000000Z -enddate "$4"
}
make trusted localhost DNS:localhost,IP:127.0.0.1 21200101000000Z
make expired localhost DNS:localhost,IP:127.0.0.1 20200102000000Z
make elsewhere example.org DNS:example.org 21200101000000Z
