# The contract suite on the simulated CUDA driver: as drivers of several ages and devices of several kinds are, on two
# devices, together with OpenCL, and under many schedules.

set(contract_command ${BI_TEST_LAUNCHER} $<TARGET_FILE:contract>)

function(add_contract_on_cuda name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEVICES;ENVIRONMENT")
    add_one_test(NAME contract-${name} LABEL contract COMMAND ${contract_command} ${arg_DEVICES}
        ENVIRONMENT ${cuda_environment} CUDA_SIM_EXIT=1 ${arg_ENVIRONMENT})
endfunction()

add_contract_on_cuda(cuda DEVICES cuda)
add_contract_on_cuda(cuda-no-pools DEVICES cuda ENVIRONMENT CUDA_SIM_POOLS=0 ${half})
add_contract_on_cuda(cuda-11.2 DEVICES cuda ENVIRONMENT CUDA_SIM_VERSION=11020 ${half})
add_contract_on_cuda(cuda-exclusive-managed DEVICES cuda ENVIRONMENT CUDA_SIM_CONCURRENT_MANAGED=0 ${half})
add_contract_on_cuda(cuda-capability-90 DEVICES cuda ENVIRONMENT CUDA_SIM_CAPABILITY=90 ${half})
add_contract_on_cuda(cuda-one-device DEVICES cuda ENVIRONMENT CUDA_SIM_DEVICES=1 ${half})
add_contract_on_cuda(cuda-two-devices DEVICES cuda:0 cuda:1)
add_contract_on_cuda(cuda-two-devices-no-pools DEVICES cuda:1 cuda:0 ENVIRONMENT CUDA_SIM_POOLS=0 ${half})
add_contract_on_cuda(cuda-and-pocl DEVICES cuda opencl
    ENVIRONMENT ${opencl_environment} POCL_DEVICES=${BI_POCL_THREADED})
add_contract_on_cuda(pocl-and-cuda DEVICES opencl cuda
    ENVIRONMENT ${opencl_environment} POCL_DEVICES=${BI_POCL_SYNCHRONOUS})

# A wait that is forgotten is reported, and a report fails the run (97: CUDA_SIM_EXIT).
add_one_test(NAME contract-cuda-notices LABEL contract COMMAND ${expect} 97 "race: " ${contract_command} cuda
    ENVIRONMENT ${cuda_environment} CUDA_SIM_EXIT=1 CUDA_SIM_DROP_WAIT=1 BI_TEST_GROUPS=pool)

# A small share of the random cases for each of many schedules. The environment of the tests unsets
# BI_OPENCL_LIBRARY, so it is set behind that: to open PoCL takes longer than all that these runs do.
set(BI_TEST_SEEDS 200 CACHE STRING "Schedules of the simulated CUDA driver under which the contract suite runs")

function(add_contract_seeds name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FIRST;PART" "DEVICES;ENVIRONMENT")
    math(EXPR count "(${BI_TEST_SEEDS} + ${arg_PART} - 1) / ${arg_PART}")
    add_one_test(NAME contract-seeds-${name} LABEL contract
        COMMAND ${CMAKE_COMMAND} -E env BI_OPENCL_LIBRARY=no-opencl-driver-in-this-test
            ${BI_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/behaviour/contract/seeds ${arg_FIRST} ${count} --jobs 2 --
            ${contract_command} ${arg_DEVICES}
        ENVIRONMENT ${cuda_environment} BI_TEST_EFFORT=2 ${arg_ENVIRONMENT})
endfunction()

add_contract_seeds(cuda FIRST 1 PART 1 DEVICES cuda)
add_contract_seeds(cuda-no-pools FIRST 100001 PART 4 DEVICES cuda ENVIRONMENT CUDA_SIM_POOLS=0)
add_contract_seeds(cuda-two-devices FIRST 200001 PART 4 DEVICES cuda:0 cuda:1)
