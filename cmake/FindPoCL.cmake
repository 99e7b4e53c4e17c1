# Finds PoCL, the OpenCL driver that the tests run on, and sets
#   BI_POCL_VENDORS       a folder of loader entries with PoCL alone in it, for OCL_ICD_VENDORS
#   BI_POCL_SYNCHRONOUS   POCL_DEVICES name of the device that works in the calling thread
#   BI_POCL_THREADED      POCL_DEVICES name of the asynchronous device
#   BI_POCL_CACHE         folder for the kernels that PoCL has compiled. Several builds may share it.
# PoCL 4 renamed "basic" and "pthread" to "cpu-minimal" and "cpu". Which of them a driver knows is found by opening them.

set(install_hint "or configure with -DBI_TESTS=OFF.")
find_file(BI_POCL_ICD pocl.icd PATHS /etc/OpenCL/vendors /usr/local/etc/OpenCL/vendors NO_DEFAULT_PATH)
if(NOT BI_POCL_ICD)
    message(FATAL_ERROR "PoCL was not found in /etc/OpenCL/vendors. Install it (Debian: pocl-opencl-icd) "
        "or set BI_POCL_ICD to its .icd file, ${install_hint}")
endif()
set(BI_POCL_CACHE ${PROJECT_BINARY_DIR}/pocl-cache CACHE PATH "Folder for the kernels that PoCL has compiled")
set(BI_POCL_VENDORS ${PROJECT_BINARY_DIR}/pocl-vendors)
file(MAKE_DIRECTORY ${BI_POCL_VENDORS} ${BI_POCL_CACHE})
file(COPY_FILE ${BI_POCL_ICD} ${BI_POCL_VENDORS}/pocl.icd ONLY_IF_DIFFERENT)

# The probe is compiled without the project's sanitizers: it only asks.
set(probe ${PROJECT_BINARY_DIR}/pocl-probe)
execute_process(
    COMMAND ${CMAKE_C_COMPILER} -o ${probe} ${CMAKE_CURRENT_LIST_DIR}/pocl_probe.c
        -I${BI_OPENCL_INCLUDE_DIR} -ldl
    RESULT_VARIABLE result ERROR_VARIABLE message)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "The probe for PoCL does not compile: ${message}")
endif()
function(find_pocl_device variable)
    foreach(name ${ARGN})
        execute_process(
            COMMAND ${CMAKE_COMMAND} -E env --unset=OPENCL_LAYERS POCL_DEVICES=${name}
                OCL_ICD_VENDORS=${BI_POCL_VENDORS} POCL_CACHE_DIR=${BI_POCL_CACHE} ${probe}
            RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE)
        if(result EQUAL 0)
            message(STATUS "PoCL device ${name}: ${text}")
            set(${variable} ${name} PARENT_SCOPE)
            return()
        endif()
        string(APPEND reasons "\n  POCL_DEVICES=${name}: ${text}")
    endforeach()
    message(FATAL_ERROR "PoCL does not open (Debian: ocl-icd-libopencl1 and pocl-opencl-icd):${reasons}\n"
        "Mend that ${install_hint}")
endfunction()
find_pocl_device(BI_POCL_SYNCHRONOUS basic cpu-minimal)
find_pocl_device(BI_POCL_THREADED pthread cpu)
