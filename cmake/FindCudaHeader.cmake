# Finds the CUDA toolkit's cuda.h, which one test compares our declarations with, and sets BI_CUDA_INCLUDE_DIR to its
# folder. The library, the command and the examples are built without it.
#
# In this order: CUDA_PATH, CUDA_HOME, the toolkit of the nvcc in PATH, /usr/local/cuda, the system's folders (Debian:
# nvidia-cuda-dev), and what scripts/fetch-cuda unpacks into build/cuda-toolkit.

find_program(BI_NVCC nvcc)
mark_as_advanced(BI_NVCC)
set(hints "$ENV{CUDA_PATH}/include" "$ENV{CUDA_HOME}/include")
if(BI_NVCC)
    file(REAL_PATH ${BI_NVCC} nvcc)
    cmake_path(GET nvcc PARENT_PATH nvcc_folder)
    list(APPEND hints ${nvcc_folder}/../include)
endif()
find_path(BI_CUDA_INCLUDE_DIR cuda.h
    HINTS ${hints} /usr/local/cuda/include
    PATHS ${PROJECT_SOURCE_DIR}/build/cuda-toolkit/include)
if(NOT BI_CUDA_INCLUDE_DIR)
    message(FATAL_ERROR "cuda.h was not found. Get it with scripts/fetch-cuda (from PyPI, into "
        "build/cuda-toolkit), install a CUDA toolkit, name its folder with "
        "-DBI_CUDA_INCLUDE_DIR=..., or configure with -DBI_TESTS=OFF.")
endif()

file(STRINGS ${BI_CUDA_INCLUDE_DIR}/cuda.h line REGEX "^#define CUDA_VERSION +[0-9]+")
string(REGEX MATCH "[0-9]+" BI_CUDA_HEADER_VERSION "${line}")
if(NOT BI_CUDA_HEADER_VERSION OR BI_CUDA_HEADER_VERSION LESS 13000)
    message(FATAL_ERROR "${BI_CUDA_INCLUDE_DIR}/cuda.h is no CUDA header of release 13.0 or later "
        "(\"${line}\"). Name the folder of another with -DBI_CUDA_INCLUDE_DIR=...")
endif()
message(STATUS "cuda.h ${BI_CUDA_HEADER_VERSION}: ${BI_CUDA_INCLUDE_DIR}")

# Writes a header that says of each function of the lists in FILES whether cuda.h declares it, in any version:
# a line "#define LISTED_symbol x, UNDECLARED" for each that it does not.
function(write_undeclared output)
    execute_process(
        COMMAND ${CMAKE_C_COMPILER} -E -D__CUDA_API_VERSION_INTERNAL ${BI_CUDA_INCLUDE_DIR}/cuda.h
        OUTPUT_VARIABLE text ERROR_VARIABLE message RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${BI_CUDA_INCLUDE_DIR}/cuda.h cannot be read: ${message}")
    endif()
    set(lines "/* Functions that cuda.h ${BI_CUDA_HEADER_VERSION} does not declare. Made when the build is configured. */\n")
    foreach(file ${ARGN})
        file(READ ${file} list)
        string(REGEX MATCHALL "X\\([A-Za-z0-9_]+, [A-Za-z0-9_]+, (required|optional)" entries "${list}")
        foreach(entry ${entries})
            string(REGEX REPLACE ".*, ([A-Za-z0-9_]+),.*" "\\1" symbol "${entry}")
            if(NOT text MATCHES "[^A-Za-z0-9_]${symbol} *\\(")
                message(STATUS "${symbol} is not declared by cuda.h ${BI_CUDA_HEADER_VERSION}")
                string(APPEND lines "#define LISTED_${symbol} x, UNDECLARED\n")
            endif()
        endforeach()
    endforeach()
    file(CONFIGURE OUTPUT ${output} CONTENT "${lines}" @ONLY)
endfunction()
