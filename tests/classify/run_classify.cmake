# Runs EMULATOR PROGRAM ARGUMENTS; fails where it does not end with STATUS, or its output does not match OUTPUT.
execute_process(COMMAND ${EMULATOR} ${PROGRAM} ${ARGUMENTS} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT result STREQUAL STATUS OR NOT text MATCHES "${OUTPUT}")
  message(FATAL_ERROR "ended with ${result}, not ${STATUS}, or printed something else:\n${text}")
endif()
