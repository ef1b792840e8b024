#ifndef SESSIONMESH_CMOSQUITTO_SHIM_H
#define SESSIONMESH_CMOSQUITTO_SHIM_H

#include <mosquitto.h>
#include <mqtt_protocol.h>

#endif
