# gcc clears and copies structs with string instructions of the processor, which take longer to begin than most of our
# structs take to be written.
include(CheckCCompilerFlag)
set(BI_STRINGS -mmemset-strategy=unrolled_loop:64:noalign,libcall:-1:noalign
    -mmemcpy-strategy=unrolled_loop:64:noalign,libcall:-1:noalign)
check_c_compiler_flag("${BI_STRINGS}" BI_HAS_STRINGS)
if(BI_HAS_STRINGS)
    add_compile_options(${BI_STRINGS})
endif()
