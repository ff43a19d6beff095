# sh 27-fixed-layout.sh one|other: the misses of an instruction cache of 8 KiB, simulated, of a program that is linked as it
# is written.
set -e
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
define=
[ "$1" = one ] || define=-DSCATTERED
cc -O1 -ffunction-sections -fdata-sections -fno-toplevel-reorder $define -static -o "$folder/program" 27-fixed-layout.c
valgrind -q --tool=cachegrind --cache-sim=yes --I1=8192,1,32 --D1=8192,1,32 --LL=1048576,16,64 \
  --cachegrind-out-file=/dev/stdout "$folder/program" 1000
