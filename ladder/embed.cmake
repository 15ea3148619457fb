# The library ladder_files: the ladder's kernels and their PTX, embedded (files.h).
#
# Included by CMakeLists.txt it defines the target; run as a script, at build time, it writes the table:
#   cmake -D FOLDER=<ladder> -D NAMES=<file of paths> -D OUTPUT=<file.c> -P embed.cmake

if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(folder ${CMAKE_CURRENT_LIST_DIR})
    file(GLOB names RELATIVE ${folder} CONFIGURE_DEPENDS
        ${folder}/*.cu ${folder}/*.cuh ${folder}/wrong/*.cu ${folder}/ptx/*.ptx)
    list(SORT names)
    list(TRANSFORM names PREPEND ${folder}/ OUTPUT_VARIABLE paths)

    # The list is a file of its own, so that a file that comes or goes rebuilds the table too.
    set(table ${CMAKE_CURRENT_BINARY_DIR}/ladder_files)
    file(CONFIGURE OUTPUT ${table}.txt CONTENT "${names}" @ONLY)
    add_custom_command(OUTPUT ${table}.c
        COMMAND ${CMAKE_COMMAND} -D FOLDER=${folder} -D NAMES=${table}.txt -D OUTPUT=${table}.c
            -P ${folder}/embed.cmake
        DEPENDS ${paths} ${table}.txt ${folder}/embed.cmake
        COMMENT "Embedding the ladder"
        VERBATIM)
    add_library(ladder_files STATIC ${table}.c)
    target_include_directories(ladder_files PUBLIC ${folder})
    return()
endif()

file(READ ${NAMES} names)
file(WRITE ${OUTPUT}.new "#include \"files.h\"\n\nconst struct ladder_file ladder_files[] = {\n")
foreach(name IN LISTS names)
    file(READ ${FOLDER}/${name} text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
    file(SIZE ${FOLDER}/${name} nbytes)
    file(APPEND ${OUTPUT}.new "    {\"${name}\",\n     \"${text}\",\n     ${nbytes}},\n")
endforeach()
file(APPEND ${OUTPUT}.new
    "};\n\nconst size_t ladder_file_count = sizeof ladder_files / sizeof *ladder_files;\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
