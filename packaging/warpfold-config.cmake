# find_package(warpfold) gives warpfold::warpfold, the shared library, and warpfold::static.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/warpfold-targets.cmake")
