#!/bin/sh
# Compiles examples/halo_mpi with one MPI, and runs it on 1, 2 and 4 ranks of each device. MPI says that it takes
# addresses of CUDA devices, which none of these devices has.
#     halo.sh MPI SOURCE_DIR LIBRARY DEVICE...      MPI: openmpi or mpich, as Debian names them
set -eu
mpi=$1 source=$2 library=$3
shift 3
example=$source/examples/halo_mpi
program=./halo_mpi-$mpi
# Open MPI: as root, more ranks than processors, no ssh, and no system call that containers forbid.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_plm=isolated OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1

# MPICH's MPI_STATUSES_IGNORE is an address of no size, about which gcc warns.
mpicc."$mpi" -std=c11 -O1 -Wall -Wextra -Werror -Wno-stringop-overflow -I"$source/include" -DHALO_KERNEL="\"$example/halo.kernel.h\"" \
    "$example/halo.c" "$source/tests/checks/docs/aware.c" -o "$program" "$library" -Wl,-rpath,"$(dirname "$library")"
for device in "$@"; do
    for ranks in 1 2 4; do
        # A run takes a second or two. One that hangs is ended, and the message says which.
        timeout -k 10 120 mpirun."$mpi" -n "$ranks" "$program" "$device" >"$program.txt" </dev/null || {
            rc=$?
            cat "$program.txt"
            echo "$ranks ranks on $device: exit status $rc (124: not ended after 120 s)"
            exit 1
        }
        cat "$program.txt"
        [ "$(grep -c ': as one rank$' "$program.txt")" = 3 ]
    done
done
