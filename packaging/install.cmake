# What is installed, and where.  All of it may be moved after: nothing that is written knows the prefix, unless a
# directory was given as an absolute path.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# ---- the program, the libraries, the headers

set_target_properties(warpfold_shared PROPERTIES EXPORT_NAME warpfold)
set_target_properties(warpfold_static PROPERTIES EXPORT_NAME static)
install(TARGETS warpfold RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS warpfold_shared warpfold_static simt EXPORT warpfold
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS runtime driver redirect LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/warpfold) # private: `warpfold run` loads it
install(PROGRAMS ${PROJECT_SOURCE_DIR}/program/ptxas DESTINATION ${CMAKE_INSTALL_LIBDIR}/warpfold)
install(FILES include/warpfold.h include/warpfold_mpi.h simt/simt.h simt/simt_observer.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The program has the tasks built in; these are for teachers, to begin their own from.
install(DIRECTORY tasks puzzles DESTINATION ${CMAKE_INSTALL_DATADIR}/warpfold FILES_MATCHING PATTERN *.task PATTERN *.cu)

# ---- for CMake: find_package(warpfold)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/warpfold)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/warpfold-config-version.cmake
    COMPATIBILITY SameMajorVersion) # as the soname
install(FILES packaging/warpfold-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/warpfold-config-version.cmake
    DESTINATION ${package})
install(EXPORT warpfold NAMESPACE warpfold:: FILE warpfold-targets.cmake DESTINATION ${package})

# ---- for pkg-config

# The directory as the file says it, from ${prefix} on.
function(set_pc_directory variable directory)
    if(NOT IS_ABSOLUTE "${directory}")
        string(PREPEND directory "\${prefix}/")
    endif()
    set(${variable} "${directory}" PARENT_SCOPE)
endfunction()

if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(pc_prefix "\${pcfiledir}/${up}")
endif()
set_pc_directory(pc_libdir "${CMAKE_INSTALL_LIBDIR}")
set_pc_directory(pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
list(TRANSFORM CMAKE_DL_LIBS PREPEND "-l" OUTPUT_VARIABLE pc_dl)
foreach(name IN ITEMS warpfold simt)
    configure_file(packaging/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# ---- the man page and the completions, filled from what the program itself says of its use

find_program(AWK awk)
if(WARPFOLD_SANITIZE OR WARPFOLD_FUZZ)
    return() # what is built to be tested may not run here
elseif(NOT AWK)
    message(STATUS "no awk: no man page and no completions")
    return()
elseif(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    message(STATUS "no CMAKE_CROSSCOMPILING_EMULATOR: no man page and no completions")
    return()
endif()
# The options of each op and command.
add_custom_command(OUTPUT commands.txt
    COMMAND sh -c "for c in $($0 --help | sed -n '/^OP is:/,/^types:/{s/^OP is://;/^types:/d;p}') count sum,mean \
        median quantile histogram distinct merge devices bench ladder explain inspect run judge; do \
        echo command: $c && $0 help $c || exit; done >commands.txt.new" $<TARGET_FILE:warpfold>
    COMMAND ${CMAKE_COMMAND} -E rename commands.txt.new commands.txt
    DEPENDS warpfold VERBATIM)
# Each is written beside its place and renamed: what a killed build leaves is never taken for the whole.
add_custom_command(OUTPUT help.txt
    COMMAND warpfold --help >help.txt.new
    COMMAND ${CMAKE_COMMAND} -E rename help.txt.new help.txt
    DEPENDS warpfold)
set(header ${CMAKE_CURRENT_SOURCE_DIR}/include/warpfold.h)
set(help ${CMAKE_CURRENT_BINARY_DIR}/help.txt)
set(commands ${CMAKE_CURRENT_BINARY_DIR}/commands.txt)
set(fill ${CMAKE_CURRENT_SOURCE_DIR}/packaging/fill.awk)
set(pages warpfold.1 warpfold.bash warpfold.zsh warpfold.fish)
foreach(page IN LISTS pages)
    set(template ${CMAKE_CURRENT_SOURCE_DIR}/packaging/${page}.in)
    add_custom_command(OUTPUT ${page}
        COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${AWK} -v version=${PROJECT_VERSION} -f ${fill}
            file=header ${header} file=help ${help} file=commands ${commands} file=template ${template} >${page}.new
        COMMAND ${CMAKE_COMMAND} -E rename ${page}.new ${page}
        DEPENDS ${header} ${help} ${commands} ${fill} ${template})
endforeach()
add_custom_target(pages ALL DEPENDS ${pages})
list(TRANSFORM pages PREPEND ${CMAKE_CURRENT_BINARY_DIR}/)
list(POP_FRONT pages man bash zsh fish)
install(FILES ${man} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${bash} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME warpfold)
install(FILES ${zsh} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _warpfold)
install(FILES ${fish} DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
