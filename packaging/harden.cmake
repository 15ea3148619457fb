# What makes a defect harder to use: guards behind arrays on the stack, checked copies, tables that are read-only once
# the program has begun, no fixed addresses, no code on the stack.  Each where the compiler and the linker know it.

include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(WARPFOLD_SANITIZE MATCHES "address")
    # At a place of their own choice, programs would first move the addresses of all that the undefined-behaviour sanitizer
    # may have to tell, megabytes of them: most of what a start takes.
    set(CMAKE_C_LINK_OPTIONS_PIE -no-pie)
endif()

check_c_compiler_flag(-fstack-protector-strong has_stack_protector)
if(has_stack_protector)
    add_compile_options(-fstack-protector-strong)
endif()

foreach(option IN ITEMS relro now noexecstack)
    check_linker_flag(C "-Wl,-z,${option}" has_z_${option})
    if(has_z_${option})
        add_link_options("-Wl,-z,${option}")
    endif()
endforeach()

# Checked copies need an optimising compiler; sanitizers check them better.
foreach(level IN ITEMS 3 2)
    set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level}")
    check_c_source_compiles("#include <string.h>\nint main(void) { return 0; }" has_fortify_${level})
    set(CMAKE_REQUIRED_FLAGS "")
    if(has_fortify_${level} AND NOT WARPFOLD_SANITIZE)
        add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
            $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=${level}>)
        break()
    endif()
endforeach()
