# The unit tests that are not built for another system, and "cuda_sim" if the simulated driver is not.
set(left_out)
if(CMAKE_CROSSCOMPILING)
    # An OpenCL driver.
    list(APPEND left_out inline opencl_backend opencl_fork)
    # CUDA is for processors with addresses of 64 bits, the lowest byte first. The simulated driver needs glibc.
    if(WIN32 OR CMAKE_SIZEOF_VOID_P LESS 8 OR CMAKE_C_BYTE_ORDER STREQUAL "BIG_ENDIAN" OR BI_TEST_LEFT_OUT MATCHES cuda)
        list(APPEND left_out cuda_sim ${units_on_cuda} strided dl)
    endif()
    # Its addresses have 64 bits.
    if(CMAKE_SIZEOF_VOID_P LESS 8)
        list(APPEND left_out cai_read)
    endif()
    # They use fork, signals, mmap, dlopen, setenv, mkdtemp or aligned_alloc.
    if(WIN32)
        list(APPEND left_out dl engine environment files fork inline_limit lines planes run threads tiles view workers)
    endif()
    # The caller's: what an emulator or a C library lacks.
    list(APPEND left_out ${BI_TEST_LEFT_OUT})
endif()
