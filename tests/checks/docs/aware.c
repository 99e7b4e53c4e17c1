/* Makes an MPI say that it takes addresses of CUDA devices. The program's functions come before the library's. */
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>

int MPIX_Query_cuda_support(void)
{
	return 1;
}
#else
int MPIX_GPU_query_support(int type, int *is_supported)
{
	*is_supported = type == MPIX_GPU_SUPPORT_CUDA;
	return MPI_SUCCESS;
}
#endif
