# The ordering suite on CUDA: the simulated driver, in its variants. The environment variable BI_CUDA_LIBRARY of a real
# driver, instead, makes the same program run on a GPU.

set(command ${BI_TEST_LAUNCHER} $<TARGET_FILE:ordering>)

foreach(pools 0 1)
    foreach(version 11020 12040)
        add_one_test(NAME ordering-cuda-${version}-pools-${pools} LABEL ordering COMMAND ${command} cuda
            ENVIRONMENT ${cuda_environment} CUDA_SIM_POOLS=${pools} CUDA_SIM_VERSION=${version})
    endforeach()
endforeach()
# Other schedules of the same work.
foreach(seed 2 3 4)
    add_one_test(NAME ordering-cuda-seed-${seed} LABEL ordering COMMAND ${command} cuda
        ENVIRONMENT ${cuda_environment} CUDA_SIM_SEED=${seed})
endforeach()
if(BI_TEST_SEEDS GREATER 1000)
    math(EXPR seeds "${BI_TEST_SEEDS} / 100")
    add_one_test(NAME ordering-seeds-cuda LABEL ordering
        COMMAND ${BI_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/behaviour/contract/seeds 5 ${seeds} --jobs 2 -- ${command} cuda
        ENVIRONMENT ${cuda_environment})
endif()
add_one_test(NAME ordering-cuda-two-devices LABEL ordering COMMAND ${command} cuda:0 cuda:1
    ENVIRONMENT ${cuda_environment})
add_one_test(NAME ordering-cuda-opencl LABEL ordering COMMAND ${command} cuda opencl
    ENVIRONMENT ${cuda_environment} ${opencl_environment} POCL_DEVICES=${BI_POCL_THREADED})
add_one_test(NAME ordering-opencl-cuda LABEL ordering COMMAND ${command} opencl cuda
    ENVIRONMENT ${cuda_environment} ${opencl_environment} POCL_DEVICES=${BI_POCL_THREADED})
# Each wait is left out once, and somebody notices. Hundreds of runs of what the other tests run under sanitizers
# and with other compilers.
if(NOT BI_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_one_test(NAME ordering-cuda-drop LABEL ordering
        COMMAND ${BI_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/behaviour/ordering/drop.py $<TARGET_FILE:ordering> cuda
        ENVIRONMENT ${cuda_environment})
    add_one_test(NAME ordering-cuda-drop-two-devices LABEL ordering
        COMMAND ${BI_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/behaviour/ordering/drop.py $<TARGET_FILE:ordering> cuda:0 cuda:1
        ENVIRONMENT ${cuda_environment} DROP_SPACES=1 DROP_FILTER=row_30_)
endif()
