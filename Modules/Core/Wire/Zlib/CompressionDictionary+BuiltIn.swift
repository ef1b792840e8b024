extension CompressionDictionary {
    /// The text of the built-in dictionary. It is part of wire format version 1: changing a byte makes it another dictionary.
    ///
    /// Frequent words come last, because deflate encodes shorter distances in fewer bits. The words are those of events,
    /// samples and states in JSON and compact. They aren't tuned to any one app.
    static let builtInText = """
        sessionmesh.control pairedCompanion localNetwork sameHost remote phone watch tablet desktop television \
        headset server unknown running cycling walking hiking rowing strength swimming yoga timer workout \
        "participants":["notes":["segments":[{"laps":[{"samples":[{"points":[{"zones":[{"title":"","kind":"" \
        "version":1,"settings":{"preferences":{"message":"","text":"","title":"","label":"","unit":"","source":"" \
        "createdAt":"updatedAt":"endedAt":null,"pausedAt":null,"startedAt":"expectedEndAt":"completed":false,\
        "isActive":true,"isPaused":false,"isRunning":true,"enabled":true,"status":"phase":"mode":"type":"name":"\
        "index":1,"count":0,"total":0,"position":0,"progress":0.0,"sets":0,"reps":0,"weight":0,"step":0,"stepIndex":0,\
        "horizontalAccuracy":"verticalAccuracy":"accuracy":"course":"speed":"altitude":"elevation":\
        "latitude":4"longitude":1"bpm":1"power":"pace":"cadence":"steps":"calories":"activeEnergy":"distance":\
        "averageHeartRate":1"maxHeartRate":1"heartRate":1"totals":{"elapsed":"duration":"value":"\
        "sessionID":"featureID":"workoutID":"peerID":"userID":"eventID":"sourcePeerID":"sequence":"revision":"payload":{\
        {"start":{"at":{"stop":{}}{"finish":{"at":{"resume":{"at":{"pause":{"at":{"lap":{"index":1,"at":\
        {"sample":{"_0":{{"update":{"_0":{{"set":{"_0":"{"metrics":{"_0":{"\
        false,"true,"null,"},{"id":""}]},"":[]}},"timestamp":7"date":"time":0,"at":7"t":7
        """
}
