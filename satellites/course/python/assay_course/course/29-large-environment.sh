# sh 29-large-environment.sh one|other BYTES: the misses of a data cache of 8 KiB, simulated, with BYTES more in the
# environment.
set -e
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
define=
[ "$1" = one ] || define=-DLOWER
cc -O1 $define -o "$folder/program" 29-large-environment.c
PADDING=$(head -c "$2" /dev/zero | tr '\0' x)
export PADDING
valgrind -q --tool=cachegrind --cache-sim=yes --I1=8192,1,32 --D1=8192,1,32 --LL=1048576,16,64 \
  --cachegrind-out-file=/dev/stdout "$folder/program" 500
