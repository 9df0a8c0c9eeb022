file(REMOVE_RECURSE
  "CMakeFiles/use_intaglio.dir/use_intaglio.c.o"
  "CMakeFiles/use_intaglio.dir/use_intaglio.c.o.d"
  "use_intaglio"
  "use_intaglio.pdb"
)

# Per-language clean rules from dependency scanning.
foreach(lang C)
  include(CMakeFiles/use_intaglio.dir/cmake_clean_${lang}.cmake OPTIONAL)
endforeach()
